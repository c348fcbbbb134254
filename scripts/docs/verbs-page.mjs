// docs/verbs.md: the command line, every verb with its options.
import { anchorOf, code, NOTICE, sentence, table, wrap } from './markdown.mjs'

export function verbsPage({ verbs }) {
  const index = verbs.map(({ usage, description }) => {
    const title = titleOf(usage)
    return [`[\`${title}\`](#${anchorOf(title)})`, description]
  })
  return [
    `# Command line\n\n${NOTICE}\n`,
    wrap(`\`fieldgate\` is one program with a verb for each task. Every verb takes \`--config\` and \`--data-dir\`, and
\`--json\` where it prints facts. Exit code 0: done; 1: failed; 2: wrong usage. \`fieldgate help <verb>\` prints the
options of a verb.`),
    table(['Verb', 'Description'], index),
    ...verbs.map(verbSection),
  ].join('\n')
}

function verbSection({ usage, description, options }) {
  const text = `## ${titleOf(usage)}\n\n${wrap(`\`fieldgate ${usage}\` ${sentence(description, false)}`)}`
  if (options.length === 0) return text
  const rows = options.map(({ flags, description: about }) => [code(flags), about])
  return `${text}\n${table(['Option', 'Description'], rows)}`
}

/** `fieldgate key create` of `key create [options] <x>`. */
function titleOf(usage) {
  return `fieldgate ${usage.split(/ [[<]/)[0]}`
}
