import { existsSync, readdirSync } from 'node:fs'
import t from 'tap'
import { type DocLine, readPage } from '../support/docs.js'

const PAGE = 'docs/architecture.md'
const { lines } = readPage(PAGE)

t.test(
  'docs/architecture.md: the table of the house names every room, and every file at the top of src/',
  (t) => {
    const house = sectionOf('## The house')
      .map(({ text }) => text)
      .join('\n')
    const entries = readdirSync('src', { withFileTypes: true })
    for (const entry of entries) {
      const name = entry.isDirectory() ? `${entry.name}/` : entry.name
      t.ok(new RegExp(`\`${name}`).test(house), `src/${name}`)
    }
    const rooms = [...house.matchAll(/^\| ([^|]+) \|/gm)]
      .flatMap(([, cell = '']) => [...cell.matchAll(/`([\w/-]+)\/(?:<\w+>\/)?`/g)])
      .map(([, room = '']) => room)
    for (const room of rooms) t.ok(existsSync(`src/${room}`), `${room}/ exists`)
    t.end()
  },
)

t.test('docs/architecture.md: a walk never comes back to a room that it left', (t) => {
  const walks = new Map<string, string[]>()
  let title = ''
  for (const { text, kind } of sectionOf('## Walks')) {
    if (kind === 'heading') title = text
    const file = /^\d+\. `(src\/[^`]+)`/.exec(text)?.[1]
    if (file !== undefined) walks.set(title, [...(walks.get(title) ?? []), file])
  }
  t.ok(walks.size >= 4, 'four walks or more')
  for (const [name, files] of walks) {
    const rooms = files.map(roomOf).filter((room, index, all) => room !== all[index - 1])
    t.same(rooms, [...new Set(rooms)], name)
  }
  t.end()
})

/** `src/api/map/schema.ts` is in the room `api/map`, `src/http/server/server.ts` in `http`. */
function roomOf(file: string): string {
  const [, room = '', below = ''] = file.split('/')
  return room === 'api' ? `${room}/${below}` : room
}

/** Lines below a heading, up to the next one of its level. */
function sectionOf(heading: string): DocLine[] {
  const start = lines.findIndex(({ text }) => text === heading)
  const end = lines.findIndex(
    ({ text, kind }, index) => index > start && kind === 'heading' && /^##? /.test(text),
  )
  return lines.slice(start + 1, end === -1 ? undefined : end)
}
