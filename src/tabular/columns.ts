import { createKeySet, type KeySet } from './key-set.js'
import { soundsLikeTime } from './names.js'
import type { FileRow } from './row-file.js'
import { epochForm, readTime, type TimeForm } from './times.js'

/** Types that columns of a file are given. */
export const COLUMN_KINDS = ['int8', 'float8', 'bool', 'timestamptz', 'date', 'text'] as const
export type ColumnKind = (typeof COLUMN_KINDS)[number]

/** Common traits of the values of a column. */
export interface ColumnFacts {
  readonly source: string
  readonly kind: ColumnKind
  /** numbers are written with a decimal comma */
  readonly hasComma: boolean
  /** form of its times; undefined when they are none */
  readonly timeForm: TimeForm | undefined
  /** rows with a value */
  readonly filled: number
  /** true when every row has a value and no two have the same */
  readonly isUnique: boolean
  /** smallest and largest number; undefined when not all values are numbers */
  readonly range: readonly [number, number] | undefined
  /** value of another form among many of one form, which makes the column text */
  readonly odd: { readonly place: number; readonly text: string; readonly count: number } | undefined
}

type Form = 'whole' | 'decimal' | 'comma' | 'bool' | 'iso' | 'slash' | 'day' | 'slashDay' | 'text'

const WHOLE = /^[+-]?(?:0|[1-9]\d{0,17})$/
const DECIMAL = /^[+-]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i
const COMMA = /^[+-]?(?:0|[1-9]\d*),\d+$/
/** One value of another form among at least so many makes a note. */
const ODD_AMONG = 10
const ODD_SHARE = 0.1
/** Rows up to which columns are compared with themselves. */
export const MAX_COUNTED_KEYS = 5_000_000

interface Collected {
  forms: Map<Form, { count: number; place: number; text: string }>
  filled: number
  low: number
  high: number
  /** undefined once two values were the same */
  seen: KeySet | undefined
}

/** Collects what the columns of a file hold. */
export interface ColumnCollector {
  add(rows: readonly FileRow[]): void
  /** @returns facts in the order in which the columns appeared */
  columns(): ColumnFacts[]
  rowCount(): number
}

/**
 * @param hasComma numbers may have a decimal comma: the separator is another character
 * @param maxKeys rows up to which columns are compared with themselves
 */
export function createColumnCollector(hasComma: boolean, maxKeys = MAX_COUNTED_KEYS): ColumnCollector {
  const columns = new Map<string, Collected>()
  let rowCount = 0
  const addValue = (source: string, value: unknown, place: number) => {
    let column = columns.get(source)
    if (column === undefined) {
      const seen = createKeySet()
      column = { forms: new Map(), filled: 0, low: Infinity, high: -Infinity, seen }
      columns.set(source, column)
    }
    if (value !== null && value !== undefined && value !== '')
      collect(column, value, place, { hasComma, maxKeys })
  }
  return {
    add(rows) {
      for (const { values, place } of rows) {
        rowCount++
        for (const source of Object.keys(values)) addValue(source, values[source], place)
      }
    },
    columns: () => [...columns].map(([source, column]) => factsOf(source, column, rowCount)),
    rowCount: () => rowCount,
  }
}

function collect(
  column: Collected,
  value: unknown,
  place: number,
  { hasComma, maxKeys }: { hasComma: boolean; maxKeys: number },
): void {
  column.filled++
  const form = formOf(value, hasComma)
  const known = column.forms.get(form)
  if (known !== undefined) known.count++
  else column.forms.set(form, { count: 1, place, text: textOf(value) })
  if (form === 'whole' || form === 'decimal' || form === 'comma') {
    const number = numberOf(value)
    if (number < column.low) column.low = number
    if (number > column.high) column.high = number
  }
  if (column.seen === undefined) return
  if (column.filled > maxKeys || !column.seen.add(textOf(value))) column.seen = undefined
}

/** Number of a value that has the form of one. */
export function numberOf(value: unknown): number {
  return typeof value === 'string' ? Number(value.trim().replace(',', '.')) : Number(value)
}

/** Text of a value: JSON for anything but text. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function formOf(value: unknown, hasComma: boolean): Form {
  if (typeof value === 'boolean') return 'bool'
  if (typeof value === 'number') return Number.isSafeInteger(value) ? 'whole' : 'decimal'
  if (typeof value !== 'string') return 'text'
  const text = value.trim()
  if (WHOLE.test(text)) return 'whole'
  if (DECIMAL.test(text)) return 'decimal'
  if (hasComma && COMMA.test(text)) return 'comma'
  if (/^(?:true|false)$/i.test(text)) return 'bool'
  const time = readTime(text)
  if (time === undefined) return 'text'
  if (time.form === 'iso') return time.isDate ? 'day' : 'iso'
  return time.isDate ? 'slashDay' : 'slash'
}

function factsOf(source: string, column: Collected, rowCount: number): ColumnFacts {
  const { forms, filled, low, high, seen } = column
  const kind = kindOf([...forms.keys()])
  const isNumber = kind === 'int8' || kind === 'float8'
  const isTime = kind === 'date' || kind === 'timestamptz'
  const epoch = kind === 'int8' && soundsLikeTime(source) ? epochForm(low, high) : undefined
  const dateForm = forms.has('slash') || forms.has('slashDay') ? 'slash' : 'iso'
  return {
    ...{ source, kind, filled, hasComma: isNumber && forms.has('comma') },
    timeForm: isTime ? dateForm : epoch,
    isUnique: seen !== undefined && filled === rowCount && filled > 0,
    range: isNumber ? [low, high] : undefined,
    odd: kind === 'text' ? oddOf(forms, filled) : undefined,
  }
}

/** Narrowest kinds first: a column has the first one that has all of its forms. */
const FORMS_OF_KIND: readonly (readonly [ColumnKind, readonly Form[]])[] = [
  ['int8', ['whole']],
  ['float8', ['whole', 'decimal']],
  ['float8', ['whole', 'comma']],
  ['bool', ['bool']],
  ['date', ['day']],
  ['date', ['slashDay']],
  ['timestamptz', ['iso', 'day']],
  ['timestamptz', ['slash', 'slashDay']],
]

function kindOf(forms: readonly Form[]): ColumnKind {
  if (forms.length === 0) return 'text'
  return FORMS_OF_KIND.find(([, allowed]) => forms.every((form) => allowed.includes(form)))?.[0] ?? 'text'
}

/** First value of a rare form, when nearly all values have one form other than text. */
function oddOf(forms: Collected['forms'], filled: number): ColumnFacts['odd'] {
  const groups: Form[][] = [['whole', 'decimal', 'comma'], ['iso', 'day', 'slash', 'slashDay'], ['bool']]
  for (const group of groups) {
    const count = group.reduce((sum, form) => sum + (forms.get(form)?.count ?? 0), 0)
    const rest = filled - count
    if (filled < ODD_AMONG || rest === 0 || rest > filled * ODD_SHARE) continue
    const others = [...forms].filter(([form]) => !group.includes(form)).map(([, found]) => found)
    const first = others.reduce((a, b) => (b.place < a.place ? b : a))
    return { place: first.place, text: first.text.slice(0, 40), count: rest }
  }
  return undefined
}
