import { type CsvRow, createCsvParser } from './csv.js'
import { fileFault, isFileFault } from './faults.js'

/** Separators of values, by name. */
export const SEPARATORS = { comma: ',', semicolon: ';', tab: '\t', pipe: '|' } as const
export type SeparatorName = keyof typeof SEPARATORS

/** Rows that are looked at. */
const MOST_ROWS = 100

/**
 * Finds the separator of CSV text: the one that divides all of the first rows into the same number of values.
 *
 * @param head first rows of the text, the last one possibly incomplete
 * @param isWhole true when the text ends with `head`
 * @param isTsv true when the name of the file says that it is the tab
 * @throws FileFault SEPARATOR when several separators divide the rows evenly
 */
export function findSeparator(head: string, isWhole: boolean, isTsv: boolean): SeparatorName {
  const stated = /^sep=([,;\t|])\r?\n/.exec(head)?.[1]
  const names = Object.keys(SEPARATORS) as SeparatorName[]
  if (stated !== undefined) return names.find((name) => SEPARATORS[name] === stated) ?? 'comma'
  const found = names.map((name) => ({ name, counts: countsOf(head, isWhole, SEPARATORS[name]) }))
  const even = found.filter(({ counts }) => (counts[0] ?? 0) > 1 && counts.every((n) => n === counts[0]))
  if (isTsv && (even.length === 0 || even.some(({ name }) => name === 'tab'))) return 'tab'
  const [only] = even
  if (even.length > 1) throw fileFault('SEPARATOR', { found: even.map(({ name }) => name).join(', ') })
  if (only !== undefined) return only.name
  // no even one: that of the first row, whose other rows are then refused with their lines
  const [first = ''] = head.split(/[\r\n]/, 1)
  const widths = names.map((name) => ({ name, width: first.split(SEPARATORS[name]).length }))
  return widths.reduce((a, b) => (b.width > a.width ? b : a)).name
}

/** Numbers of values of the first rows; none when the text cannot be divided so. */
function countsOf(head: string, isWhole: boolean, separator: string): number[] {
  const parser = createCsvParser(separator)
  let rows: CsvRow[]
  try {
    rows = parser.push(head)
    if (isWhole) rows = [...rows, ...parser.end()]
  } catch (error) {
    if (isFileFault(error)) return []
    throw error
  }
  return rows.slice(0, MOST_ROWS).map(({ cells }) => cells.length)
}
