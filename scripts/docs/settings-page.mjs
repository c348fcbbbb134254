// docs/settings.md: every setting, by section.
import { code, NOTICE, table, wrap } from './markdown.mjs'

export function settingsPage({ settings }) {
  const sections = Map.groupBy(settings, ({ path }) =>
    path.includes('.') ? path.split('.')[0] : 'Top level',
  )
  return [
    `# Settings\n\n${NOTICE}\n`,
    wrap(`Settings are read from \`edge.config.json\`, then from the environment as \`FIELDGATE_SECTION__NAME\`
(\`FIELDGATE_SERVER__PORT=8080\` sets \`server.port\`, \`FIELDGATE_DATA_DIR\` sets \`dataDir\`), then from flags; the
later one wins. \`fieldgate config print\` shows each value and where it came from, \`fieldgate config check\` every
fault. \`edge.config.schema.json\` (\`fieldgate config schema\`) is the JSON Schema for editors.`),
    ...[...sections].map(([title, rows]) => `## ${title}\n\n${settingsTable(rows)}`),
  ].join('\n')
}

function settingsTable(rows) {
  return table(
    ['Setting', 'Type', 'Default', 'Description'],
    rows.map(({ path, type, default: value, description }) => [
      code(path),
      type,
      value === undefined ? '' : code(JSON.stringify(value)),
      description,
    ]),
  )
}
