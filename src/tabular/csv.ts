import { fileFault } from './faults.js'

/** Cell of a row; null when it is empty without quotes. */
export type Cell = string | null

export interface CsvRow {
  readonly cells: Cell[]
  /** line of its first cell, from 1; a quoted cell may hold line breaks */
  readonly line: number
}

/** Splits CSV text that arrives in pieces. */
export interface CsvParser {
  /** Returns the rows that a piece completes. @throws FileFault QUOTE, LONG_ROW */
  push(text: string): CsvRow[]
  /** Returns the last row, if it has no line end. @throws FileFault OPEN_QUOTE */
  end(): CsvRow[]
}

/** An unclosed quote would otherwise collect the whole file. */
const MAX_ROW_CHARS = 16 * 1024 * 1024

const QUOTE = 0x22
const LF = 0x0a
const CR = 0x0d

const START = 0
const PLAIN = 1
const QUOTED = 2
/** behind a quote that closes a cell, or is the first of two */
const CLOSED = 3

/**
 * Creates a parser of CSV (RFC 4180) with any separator. Lines end with LF, CR LF or CR; blank lines are left
 * out. An empty cell is null, `""` an empty text.
 *
 * @param separator one character
 */
export function createCsvParser(separator: string, maxRowChars = MAX_ROW_CHARS): CsvParser {
  const separatorCode = separator.charCodeAt(0)
  let state = START
  let cells: Cell[] = []
  /** part of the cell from earlier pieces, and before doubled quotes */
  let kept = ''
  let [line, rowLine, rowChars] = [1, 1, 0]
  let isAfterCr = false
  let rows: CsvRow[] = []
  /** piece that is read, and the beginning of the part of its cell that is not in `kept` */
  let text = ''
  let from = 0

  const endCell = (at: number) => {
    cells.push(state === START ? null : state === PLAIN ? kept + text.slice(from, at) : kept)
    kept = ''
    state = START
  }
  const endRow = (at: number) => {
    if (cells.length > 0 || state !== START) {
      endCell(at)
      rows.push({ cells, line: rowLine })
      cells = []
    }
    line++
    rowLine = line
    rowChars = 0
  }
  /** Handles a character inside quotes. */
  const readQuoted = (code: number, at: number) => {
    if (code === LF) line++
    if (code !== QUOTE) return
    kept += text.slice(from, at)
    state = CLOSED
  }
  const readQuote = (at: number) => {
    if (state === PLAIN) throw fileFault('QUOTE', { line })
    if (state === CLOSED) kept += '"'
    state = QUOTED
    from = at + 1
  }
  /** Handles a character outside quotes. */
  const readOther = (code: number, at: number) => {
    const isOfCr = code === LF && isAfterCr
    isAfterCr = code === CR
    if (code === QUOTE) readQuote(at)
    else if (code === separatorCode) endCell(at)
    else if (code === LF || code === CR) {
      if (!isOfCr) endRow(at)
    } else if (state === CLOSED) throw fileFault('QUOTE', { line })
    else if (state === START) {
      state = PLAIN
      from = at
    }
  }
  return {
    push(piece) {
      rows = []
      text = piece
      from = 0
      for (let at = 0; at < text.length; at++) {
        const code = text.charCodeAt(at)
        if (state === QUOTED) readQuoted(code, at)
        else readOther(code, at)
      }
      if (state === PLAIN || state === QUOTED) kept += text.slice(from)
      rowChars = rows.length > 0 ? kept.length : rowChars + text.length
      if (rowChars > maxRowChars) throw fileFault('LONG_ROW', { line: rowLine, limit: maxRowChars })
      return rows
    },
    end() {
      if (state === QUOTED) throw fileFault('OPEN_QUOTE', { line: rowLine })
      rows = []
      text = ''
      if (cells.length > 0 || state !== START) endRow(0)
      return rows
    },
  }
}
