import type { Place, Question } from './scenario-text.js'

/** Answer of `routing.dijkstra` as far as scenarios look into it. */
export interface Answer {
  readonly length: number
  readonly time: number
  readonly total_cost: number
  readonly turn_cost: number
  readonly geojson: {
    readonly features: readonly {
      readonly geometry: { readonly coordinates: readonly (readonly [number, number])[] }
      readonly properties: { readonly speed: number; readonly notes: readonly string[] }
    }[]
  }
  readonly [member: string]: unknown
}

/** Result of a question: an answer, or the name of the error, such as NO_ROUTE. */
export type Outcome = Answer | string

/** Words of a scenario for errors. */
const WORD_OF_ERROR: Record<string, string> = { NO_ROUTE: 'none', OUTSIDE_MAP: 'no road' }
/** A place that is not a letter is named where the route begins or ends this close to it, degrees. */
const NEAR_DEGREES = 5e-6
const S_PER_HOUR = 3600

/**
 * Facts that a route question may expect after the letters, separated by commas: pattern → what the answer
 * has in the same form. Add a line here for a new kind of fact.
 */
const FACTS: readonly (readonly [RegExp, (answer: Answer, match: RegExpExecArray) => string])[] = [
  [/^(\d+(?:\.\d+)?) m$/, ({ length }, [, asked = '']) => `${alike(length, asked)} m`],
  [/^(\d+(?:\.\d+)?) s$/, ({ time }, [, asked = '']) => `${alike(time * S_PER_HOUR, asked)} s`],
  [/^cost (\d+(?:\.\d+)?) s$/, (a, [, asked = '']) => `cost ${alike(a.total_cost * S_PER_HOUR, asked)} s`],
  [/^turns (\d+(?:\.\d+)?) s$/, (a, [, asked = '']) => `turns ${alike(a.turn_cost * S_PER_HOUR, asked)} s`],
  [/^speed [\d /]+$/, (answer) => `speed ${[...new Set(speedsOf(answer))].join(' / ')}`],
  [
    /^note "(.*)"$/,
    (answer, [, note = '']) =>
      notesOf(answer).includes(note) ? `note "${note}"` : `notes ${JSON.stringify(notesOf(answer))}`,
  ],
  [/^no note$/, (answer) => (notesOf(answer).length === 0 ? 'no note' : `notes ${notesOf(answer)}`)],
]

/** Writes the outcome of a route question in the form of what the question expects. */
export function routeWords(
  { stops, expected }: Question,
  outcome: Outcome,
  places: ReadonlyMap<string, Place>,
): string {
  if (typeof outcome === 'string') return WORD_OF_ERROR[outcome] ?? outcome
  const [, ...facts] = splitFacts(expected)
  return [lettersOf(outcome, stops, places), ...facts.map((fact) => factOf(fact, outcome))].join(', ')
}

/** Splits `abc, 300 m, note "a, b"` at the commas outside quotation marks. */
export function splitFacts(text: string): string[] {
  return [...text.matchAll(/(?:[^,"]|"[^"]*")+/g)].map(([part]) => part.trim())
}

function factOf(fact: string, answer: Answer): string {
  for (const [pattern, write] of FACTS) {
    const match = pattern.exec(fact)
    if (match !== null) return write(answer, match)
  }
  return `(unknown fact ${JSON.stringify(fact)}: test/scenarios/README.md lists them)`
}

/** Writes a figure with as many decimals as the asked one has. */
function alike(value: number, asked: string): string {
  return value.toFixed(asked.split('.')[1]?.length ?? 0)
}

/** Letters along a route, in order; a digit where a route begins or ends at that place. */
function lettersOf(
  { geojson }: Answer,
  stops: readonly string[],
  places: ReadonlyMap<string, Place>,
): string {
  const letterAt = new Map<string, string>()
  for (const [letter, { lng, lat, isNode }] of places) if (isNode) letterAt.set(`${lng},${lat}`, letter)
  if (geojson.features.length === 0) return 'nowhere'
  const line = geojson.features.flatMap(({ geometry }) => geometry.coordinates)
  const nearStop = ([lng, lat]: readonly [number, number]) =>
    stops.find((stop) => {
      const place = places.get(stop)
      return (
        place?.isNode === false &&
        Math.abs(place.lng - lng) < NEAR_DEGREES * 2 &&
        Math.abs(place.lat - lat) < NEAR_DEGREES
      )
    })
  const letters = line.map((at) => letterAt.get(`${at[0]},${at[1]}`) ?? nearStop(at) ?? '')
  const isSame = (i: number) => line[i]?.[0] === line[i - 1]?.[0] && line[i]?.[1] === line[i - 1]?.[1]
  // a route that begins or ends away from the stops of the question shows that
  if (letters[0] === '') letters[0] = '?'
  if (letters.length > 1 && letters.at(-1) === '') letters[letters.length - 1] = '?'
  return letters.filter((_, i) => !isSame(i)).join('')
}

function speedsOf({ geojson }: Answer): number[] {
  return geojson.features.map(({ properties }) => properties.speed)
}

function notesOf({ geojson }: Answer): string[] {
  return [...new Set(geojson.features.flatMap(({ properties }) => properties.notes))]
}

/**
 * Writes the outcomes of a table row there and back in the form that its cell has: `both`, `forw`, `back`,
 * `no`; or speeds, `50` or `50/30` or `50/no`; followed by `private` where a note says so.
 */
export function directionWords(expected: string, there: Outcome, back: Outcome): string {
  const open = [there, back].map((outcome) => (typeof outcome === 'string' ? undefined : outcome))
  const strange = [there, back].find((one) => typeof one === 'string' && WORD_OF_ERROR[one] === undefined)
  if (typeof strange === 'string') return strange
  const isPrivate = open.some((one) => one !== undefined && notesOf(one).includes(PRIVATE_NOTE))
  const words = /\d/.test(expected) ? speedWords(open) : openWords(open)
  return isPrivate ? `${words} private` : words
}

const PRIVATE_NOTE = 'private or destination only'

function openWords([there, back]: readonly (Answer | undefined)[]): string {
  if (there === undefined) return back === undefined ? 'no' : 'back'
  return back === undefined ? 'forw' : 'both'
}

function speedWords(open: readonly (Answer | undefined)[]): string {
  const speeds = open.map((one) => (one === undefined ? 'no' : speedsOf(one).join(' ')))
  return speeds[0] === speeds[1] ? (speeds[0] ?? '') : speeds.join('/')
}

/** Writes the notes of the outcomes of a table row, each once. */
export function noteWords(there: Outcome, back: Outcome): string {
  const notes = [there, back].flatMap((one) => (typeof one === 'string' ? [] : notesOf(one)))
  return [...new Set(notes)].filter((note) => note !== PRIVATE_NOTE).join('; ')
}
