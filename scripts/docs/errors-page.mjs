// docs/errors.md: every error, and what to do about those that need more than their message.
import { code, NOTICE, sentence, table, wrap } from './markdown.mjs'

export function errorsPage({ errors }) {
  return [
    `# Errors\n\n${NOTICE}\n`,
    wrap(`\`error.data\` holds \`name\` (the symbolic name below), \`requestId\`, and what helps to correct the call.
\`INVALID_PARAMS\` lists every fault with its JSON path in \`data.faults\`. Codes from −32768 to −32000 are those of
JSON-RPC 2.0. The HTTP status is that of the REST form (\`…/call/<method>\`) and of paths that are not JSON-RPC; a
JSON-RPC call that reaches its method is answered with 200.`),
    wrap(`\`X-Request-Id\` of an answer finds its lines in the log. Frequent causes:
[operations](operations.md#when-a-call-fails).`),
    table(
      ['Code', 'Name', 'HTTP', 'Message'],
      errors.map(({ code: number, name, status, message }) => [number, code(name), status, message]),
    ),
    '## What to do\n',
    ...errors
      .filter(({ advice }) => advice !== '')
      .map(({ name, message, advice }) => `### ${name}\n\n${wrap(`${sentence(message)} ${advice}`)}`),
  ].join('\n')
}
