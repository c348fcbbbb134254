import { MAX_ROUTES, type MapState, RECORD_TIMES } from './state.js'

const LEVELS = 11
const MAX_POINTS = 102
const MAX_NAMES = 50
const MAX_NAME = 200

/** Part of the state that a link carries. */
export type Question = Pick<
  MapState,
  | 'mapName'
  | 'points'
  | 'themes'
  | 'events'
  | 'atMs'
  | 'brushMs'
  | 'recordTimes'
  | 'degree'
  | 'reorder'
  | 'timeDependent'
  | 'alternatives'
  | 'chosen'
  | 'colourBy'
  | 'recordFilter'
  | 'minutes'
  | 'camera'
>

/**
 * Writes a question as the query of an address: `points=10,50;10.1,50.1&at=2026-01-01T10:00:00.000Z&…`.
 * What has its initial value is left out.
 *
 * @param withTime false leaves the time to the data that the reader chooses
 */
export function linkOf(question: Question, withTime: boolean): string {
  const { points, themes, events, brushMs, recordFilter, camera } = question
  const query = new URLSearchParams()
  const add = (name: string, value: string | undefined) => {
    if (value !== undefined && value !== '') query.set(name, value)
  }
  add('map', question.mapName)
  add('points', points.map((point) => point.join(',')).join(';'))
  if (withTime) add('at', new Date(question.atMs).toISOString())
  for (const [theme, curve] of themes) query.append('theme', `${theme}:${curve.join(',')}`)
  for (const name of events) query.append('events', name)
  add('brush', brushMs?.map((ms) => new Date(ms).toISOString()).join('/'))
  add('records', question.recordTimes === 'all' ? undefined : question.recordTimes)
  add('cells', question.degree === 0 ? undefined : String(question.degree))
  add('reorder', question.reorder ? '1' : undefined)
  add('depart', question.timeDependent ? 'time_dependent' : undefined)
  add('routes', question.alternatives === 1 ? undefined : String(question.alternatives))
  add('chosen', question.chosen === 'around' ? undefined : question.chosen)
  add('colour', question.colourBy)
  if (recordFilter !== undefined)
    add('where', `${recordFilter.column} ${recordFilter.operator} ${recordFilter.value}`)
  add('minutes', question.minutes?.join(','))
  if (camera !== undefined) {
    const [lng, lat] = camera.center
    add('view', [lng.toFixed(6), lat.toFixed(6), camera.zoom.toFixed(2)].join(','))
  }
  // signs that may stand in the fragment of an address as they are
  return query.toString().replace(/%2C/g, ',').replace(/%3B/g, ';').replace(/%3A/g, ':').replace(/%2F/g, '/')
}

/** Reads a link. What is absent, out of range or no value of its kind is left out of the result. */
export function readLink(query: string): Partial<Question> {
  const values = new URLSearchParams(query)
  const found: Partial<Question> = {}
  const text = (name: string) => values.get(name)?.slice(0, MAX_NAME)
  const mapName = text('map')
  if (mapName !== undefined) found.mapName = mapName
  if (values.has('points')) found.points = pointsOf(values.get('points') ?? '')
  const atMs = timeOf(text('at'))
  if (atMs !== undefined) found.atMs = atMs
  if (values.has('theme')) found.themes = themesOf(values.getAll('theme'))
  if (values.has('events')) found.events = new Set(namesOf(values.getAll('events')))
  const brushMs = brushOf(text('brush'))
  if (brushMs !== undefined) found.brushMs = brushMs
  const recordTimes = RECORD_TIMES.find((each) => each === text('records'))
  if (recordTimes !== undefined) found.recordTimes = recordTimes
  const degree = integerOf(text('cells'), 5)
  if (degree !== undefined) found.degree = degree
  const alternatives = integerOf(text('routes'), MAX_ROUTES)
  if (alternatives !== undefined && alternatives > 0) found.alternatives = alternatives
  if (text('reorder') === '1') found.reorder = true
  if (text('depart') === 'time_dependent') found.timeDependent = true
  const chosen = text('chosen')
  if (chosen !== undefined && /^(around|fastest|[1-9])$/.test(chosen)) found.chosen = chosen
  const colourBy = text('colour')
  if (colourBy !== undefined) found.colourBy = colourBy
  const recordFilter = filterOf(text('where'))
  if (recordFilter !== undefined) found.recordFilter = recordFilter
  const minutes = numbersOf(text('minutes'))
  if (minutes !== undefined && minutes.length <= 10 && minutes.every((each) => each > 0))
    found.minutes = minutes
  const camera = cameraOf(text('view'))
  if (camera !== undefined) found.camera = camera
  return found
}

function pointsOf(text: string): [number, number][] {
  return text
    .split(';')
    .slice(0, MAX_POINTS)
    .flatMap((part) => {
      const [lng = Number.NaN, lat = Number.NaN, ...rest] = numbersOf(part) ?? []
      const isPoint = rest.length === 0 && Math.abs(lng) <= 180 && Math.abs(lat) <= 90
      return isPoint ? [[lng, lat] as [number, number]] : []
    })
}

function themesOf(texts: readonly string[]): Map<string, number[]> {
  const themes = new Map<string, number[]>()
  for (const text of texts.slice(0, MAX_NAMES)) {
    const at = text.lastIndexOf(':')
    const curve = numbersOf(text.slice(at + 1))
    if (at > 0 && curve?.length === LEVELS && curve.every((value) => value >= 0))
      themes.set(text.slice(0, Math.min(at, MAX_NAME)), curve)
  }
  return themes
}

function namesOf(names: readonly string[]): string[] {
  return names.slice(0, MAX_NAMES).filter((name) => name !== '' && name.length <= MAX_NAME)
}

function brushOf(text: string | undefined): [number, number] | undefined {
  const [from, to] = (text ?? '').split('/').map(timeOf)
  return from === undefined || to === undefined || from >= to ? undefined : [from, to]
}

/** Reads `column operator value`; the value may be empty, and have spaces. */
function filterOf(text: string | undefined): Question['recordFilter'] {
  const [, column, operator, value] = /^(.+?) (=|<>|>=?|<=?|like) (.*)$/.exec(text ?? '') ?? []
  if (column === undefined || operator === undefined || value === undefined) return undefined
  return { column, operator, value }
}

function cameraOf(text: string | undefined): Question['camera'] {
  const [lng = Number.NaN, lat = Number.NaN, zoom = Number.NaN] = numbersOf(text) ?? []
  const isCamera = Math.abs(lng) <= 180 && Math.abs(lat) <= 90 && zoom >= 0 && zoom <= 24
  return isCamera ? { center: [lng, lat], zoom } : undefined
}

function timeOf(text: string | undefined): number | undefined {
  const ms = Date.parse(text ?? '')
  return Number.isNaN(ms) ? undefined : ms
}

function integerOf(text: string | undefined, most: number): number | undefined {
  return text !== undefined && /^\d+$/.test(text) && Number(text) <= most ? Number(text) : undefined
}

/** Reads numbers with commas between them; undefined when one of them is none. */
function numbersOf(text: string | undefined): number[] | undefined {
  const parts = (text ?? '').split(',')
  const numbers = parts.map(Number)
  return parts.some((part) => part.trim() === '') || !numbers.every(Number.isFinite) ? undefined : numbers
}
