// docs/messages.md: the texts of errors and warnings, so that a change of one is seen in review.
import { messageTexts } from '../messages.mjs'
import { NOTICE, wrap } from './markdown.mjs'

export function messagesPage() {
  const rooms = Map.groupBy(messageTexts(), roomOf)
  return [
    `# Messages\n\n${NOTICE}\n`,
    wrap(`Texts of errors and warnings, or parts of them, in the order of the source files. Braces stand for what
differs from case to case; \`found …, expected …\` is put together from its parts. [errors.md](errors.md) lists the
errors by name.`),
    ...[...rooms].map(
      ([room, texts]) =>
        `## ${room}\n\n\`\`\`text\n${texts.map((text) => text.slice('src/'.length)).join('\n')}\n\`\`\`\n`,
    ),
  ].join('\n')
}

function roomOf(text) {
  const [, room] = /^src\/([^/:]+)(?:\/|\.ts:)/.exec(text)
  return room
}
