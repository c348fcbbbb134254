import type { OsmData, OsmNode, OsmRelation, OsmWay } from '../../src/demo/write-extract.js'

/** Kinds of traveller that a scenario can ask for. */
export const TRAVELLERS = ['car', 'bicycle', 'foot'] as const
export type Traveller = (typeof TRAVELLERS)[number]

/** A drawing or a table of a scenario file, with what it expects. `test/scenarios/README.md` has the form. */
export interface Scenario {
  readonly title: string
  /** `turns.txt:12` */
  readonly place: string
  readonly osm: OsmData
  /** options of `map build` beside the profile */
  readonly buildArgs: readonly string[]
  /** `routing.maxSnapM` */
  readonly snapM: number
  /** places by their characters: letters are nodes, digits only places */
  readonly places: ReadonlyMap<string, Place>
  readonly questions: readonly Question[]
}

export interface Place {
  readonly lng: number
  readonly lat: number
  readonly isNode: boolean
}

/** A line that asks for a route, or two cells of a table that ask for both directions. */
export interface Question {
  /** `turns.txt:17` */
  readonly place: string
  readonly traveller: Traveller
  /** places to visit; of a table row: its two ends */
  readonly stops: readonly string[]
  /** further params, such as `at=2026-01-05T08:00` */
  readonly params: ReadonlyMap<string, string>
  /** what the line expects, as it is written */
  readonly expected: string
  readonly kind: 'route' | 'directions' | 'notes' | 'build'
}

/** Metres between two characters of a drawing, so that `a-b` is 100 m, unless `grid` says otherwise. */
const GRID_M = 50
/** Points lie on roads: none is moved far, unless `snap` says otherwise. */
const SNAP_M = 30
/** Place of the first character, unless `place` says otherwise. */
const ORIGIN = { lng: 10, lat: 45 }
/** First id of the nodes of a table; letters have their character codes. */
const TABLE_NODE_ID = 1000
/** Title of a column that says what is expected: `by car`, `on foot`, `notes by car`. */
const EXPECTATION = /^(notes )?(?:by|on) (car|bicycle|foot)$/
/** Metres between the streets of a table, far enough that no point is moved to another one. */
const TABLE_STEP_M = 300

/** Parses a scenario file. @throws Error for a line that is none of the form, with file and line */
export function readScenarios(file: string, text: string): Scenario[] {
  const scenarios: Scenario[] = []
  let block: Line[] = []
  const end = () => {
    if (block.length > 0) scenarios.push(readScenario(file, block))
    block = []
  }
  for (const [at, raw] of text.split('\n').entries()) {
    const line = raw.replace(/(^|\s)#.*$/, '').trimEnd()
    if (line.startsWith('=== ')) end()
    if (line === '') continue
    if (block.length === 0 && !line.startsWith('=== '))
      throw new Error(`${file}:${at + 1}: expected "=== title", found ${JSON.stringify(raw)}`)
    block.push({ text: line, number: at + 1 })
  }
  end()
  return scenarios
}

interface Line {
  readonly text: string
  readonly number: number
}

function readScenario(file: string, [first, ...lines]: readonly Line[]): Scenario {
  const place = `${file}:${first?.number}`
  const drawing = lines.filter(({ text }) => /^\s/.test(text))
  const rows = lines.filter(({ text }) => text.startsWith('|'))
  const words = lines.filter(({ text }) => !/^[\s|]/.test(text))
  const options = readOptions(words)
  const scenario = { title: first?.text.slice(4) ?? '', place, ...options }
  if (rows.length > 0) return { ...scenario, ...readTable(file, rows, options) }
  return { ...scenario, ...readDrawing(file, drawing, words, options) }
}

interface Options {
  readonly buildArgs: readonly string[]
  readonly snapM: number
  readonly gridM: number
  readonly origin: { lng: number; lat: number }
}

function readOptions(words: readonly Line[]): Options {
  const optionOf = (key: string) =>
    words.find(({ text }) => text.startsWith(`${key} `))?.text.slice(key.length + 1)
  const [lng = ORIGIN.lng, lat = ORIGIN.lat] = optionOf('place')?.split(' ').map(Number) ?? []
  const build = optionOf('build')
  return {
    buildArgs: build === undefined || build.includes('=>') ? [] : build.split(' '),
    snapM: Number(optionOf('snap') ?? SNAP_M),
    gridM: Number(optionOf('grid') ?? GRID_M),
    origin: { lng, lat },
  }
}

/** Reads a drawing of letters and the lines below it. */
function readDrawing(file: string, drawing: readonly Line[], words: readonly Line[], options: Options) {
  const places = placesOf(drawing, options)
  const tags = new Map<string, Record<string, string>>()
  const ways: OsmWay[] = []
  const wayIds = new Map<string, number>()
  const relations: OsmRelation[] = []
  const questions: Question[] = []
  for (const { text, number } of words) {
    const at = `${file}:${number}`
    const [key = '', name = ''] = text.split(/\s+/)
    if (text.includes('=>')) questions.push(...readQuestions(at, text))
    else if (key === 'way') {
      wayIds.set(name, ways.length + 1)
      const refs = [...name].map((letter) => nodeIdOf(letter, places, at))
      ways.push({ id: ways.length + 1, refs, tags: tagsOf(text) })
    } else if (key === 'node') tags.set(name, tagsOf(text))
    else if (key === 'turn') relations.push(readTurn(at, text, relations.length + 1, wayIds, places))
    else if (!['build', 'snap', 'grid', 'place'].includes(key))
      throw new Error(`${at}: expected way, node, turn, a question or an option, found ${text}`)
  }
  const nodes: OsmNode[] = [...places]
    .filter(([, place]) => place.isNode)
    .map(([letter, { lng, lat }]) => ({
      id: letter.codePointAt(0) ?? 0,
      lng,
      lat,
      tags: tags.get(letter) ?? {},
    }))
    .sort((a, b) => a.id - b.id)
  return { osm: { nodes, ways, relations }, places, questions }
}

/** Places of the characters of a drawing. Lines and dots that join letters are only for the reader. */
function placesOf(drawing: readonly Line[], { gridM, origin }: Options): Map<string, Place> {
  const places = new Map<string, Place>()
  const indent = Math.min(...drawing.map(({ text }) => text.search(/\S/)))
  for (const [row, { text }] of drawing.entries()) {
    for (const [column, char] of [...text.slice(indent)].entries()) {
      if (!/[\p{L}\d]/u.test(char)) continue
      places.set(char, {
        ...placeAt(origin, column * gridM, -row * gridM),
        isNode: !/\d/.test(char),
      })
    }
  }
  return places
}

/** Place at some metres east and north of another one, on the WGS 84 ellipsoid, rounded to 1e-7 degree. */
function placeAt(origin: { lng: number; lat: number }, eastM: number, northM: number) {
  const phi = (origin.lat * Math.PI) / 180
  const perLat = 111_132.954 - 559.822 * Math.cos(2 * phi) + 1.175 * Math.cos(4 * phi)
  const perLng = 111_412.84 * Math.cos(phi) - 93.5 * Math.cos(3 * phi)
  const round = (degrees: number) => Math.round(degrees * 1e7) / 1e7
  return { lng: round(origin.lng + eastM / perLng), lat: round(origin.lat + northM / perLat) }
}

function nodeIdOf(letter: string, places: ReadonlyMap<string, Place>, at: string): number {
  if (places.get(letter)?.isNode !== true) throw new Error(`${at}: the drawing has no letter ${letter}`)
  return letter.codePointAt(0) ?? 0
}

/** Tags of a line: `key=value` words; a value with spaces stands in quotation marks. */
function tagsOf(text: string): Record<string, string> {
  const tags: Record<string, string> = {}
  for (const [, key = '', quoted, bare] of text.matchAll(/(?<=\s)([^\s=]+)=(?:"([^"]*)"|(\S+))/g))
    tags[key] = quoted ?? bare ?? ''
  return tags
}

/** Reads `turn no_left_turn ab > b > bc except=bicycle`; a via of several letters is a way. */
function readTurn(
  at: string,
  text: string,
  id: number,
  wayIds: ReadonlyMap<string, number>,
  places: ReadonlyMap<string, Place>,
): OsmRelation {
  const match = /^turn\s+(\S+)\s+(\S+)\s*>\s*(\S+)\s*>\s*(\S+)/.exec(text)
  if (match === null) throw new Error(`${at}: expected "turn KIND FROM > VIA > TO", found ${text}`)
  const [, kind = '', from = '', via = '', to = ''] = match
  const waysOf = (names: string, role: string) =>
    names.split(',').map((name) => {
      const way = wayIds.get(name)
      if (way === undefined) throw new Error(`${at}: no way ${name} above this line`)
      return { type: 'way' as const, id: way, role }
    })
  const isNode = [...via].length === 1
  return {
    id,
    // "-": only keys of its own, such as restriction:conditional
    tags: { type: 'restriction', ...(kind === '-' ? {} : { restriction: kind }), ...tagsOf(text) },
    members: [
      ...waysOf(from, 'from'),
      ...(isNode
        ? [{ type: 'node' as const, id: nodeIdOf(via, places, at), role: 'via' }]
        : waysOf(via, 'via')),
      ...waysOf(to, 'to'),
    ],
  }
}

/** Reads `car bicycle a>b>c key=value => expected`, or `car build => expected`. */
function readQuestions(place: string, text: string): Question[] {
  const [left = '', expected = ''] = text.split('=>').map((part) => part.trim())
  const words = left.split(/\s+/)
  const travellers = words.filter((word): word is Traveller =>
    (TRAVELLERS as readonly string[]).includes(word),
  )
  const stops = words.find((word) => word.includes('>'))?.split('>') ?? []
  const isBuild = words.includes('build')
  if (travellers.length === 0 || (stops.length < 2 && !isBuild))
    throw new Error(`${place}: expected "car a>b => route", found ${text}`)
  const params = new Map(Object.entries(tagsOf(` ${left}`)))
  const kind = isBuild ? 'build' : 'route'
  return travellers.map((traveller) => ({ place, traveller, stops, params, expected, kind }))
}

/**
 * Reads a table: each row is a street of its own with the tags of its cells, and columns such as `by car` say
 * in which directions it is open. `node:KEY` columns tag a node in the middle.
 */
function readTable(file: string, [header, ...rows]: readonly Line[], { origin }: Options) {
  const titles = cellsOf(header?.text ?? '')
  const nodes: OsmNode[] = []
  const ways: OsmWay[] = []
  const places = new Map<string, Place>()
  const questions: Question[] = []
  for (const [row, { text, number }] of rows.entries()) {
    const at = `${file}:${number}`
    const firstId = TABLE_NODE_ID + row * 3
    const stops = [`${row}a`, `${row}b`] as const
    const { tags, nodeTags, asked } = readRow(at, titles, cellsOf(text))
    questions.push(...asked.map((question) => ({ ...question, place: at, stops, params: new Map() })))
    for (const part of [0, 1, 2]) {
      const spot = placeAt(origin, part * 50, -row * TABLE_STEP_M)
      nodes.push({ id: firstId + part, ...spot, tags: part === 1 ? nodeTags : {} })
      if (part !== 1) places.set(part === 0 ? stops[0] : stops[1], { ...spot, isNode: true })
    }
    ways.push({ id: row + 1, refs: [firstId, firstId + 1, firstId + 2], tags })
  }
  return { osm: { nodes, ways, relations: [] }, places, questions }
}

/** Reads the cells of a row: tags of its way and of its middle node, and what its columns expect. */
function readRow(at: string, titles: readonly string[], cells: readonly string[]) {
  if (cells.length !== titles.length)
    throw new Error(`${at}: found ${cells.length} cells, expected ${titles.length}`)
  const tags: Record<string, string> = {}
  const nodeTags: Record<string, string> = {}
  const asked: Pick<Question, 'traveller' | 'expected' | 'kind'>[] = []
  for (const [column, title] of titles.entries()) {
    const cell = cells[column] ?? ''
    const match = EXPECTATION.exec(title)
    const traveller = TRAVELLERS.find((name) => name === match?.[2])
    const isNotes = match?.[1] !== undefined
    if (traveller !== undefined && isNotes) asked.push({ traveller, expected: cell, kind: 'notes' })
    else if (cell === '') continue
    else if (traveller !== undefined) asked.push({ traveller, expected: cell, kind: 'directions' })
    else if (title.startsWith('node:')) nodeTags[title.slice(5)] = cell
    else tags[title] = cell
  }
  return { tags, nodeTags, asked }
}

function cellsOf(text: string): string[] {
  return text
    .replace(/^\||\|$/g, '')
    .split('|')
    .map((cell) => cell.trim())
}
