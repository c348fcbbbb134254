import { describeFound } from '../../messages/fault-text.js'
import { type ColumnType, quoteDefault, type Stored, type ValueFault } from './column-type.js'

/**
 * Types of text. Lengths count code points, as in PostgreSQL. `varchar(n)` and `bpchar(n)` drop spaces beyond
 * n; `bpchar(n)` is padded with spaces to n, and comparisons ignore spaces at its end.
 */
export const TEXT_TYPES = {
  varchar: textType('character varying', 'character varying', { cutsSpaces: true, pads: false }),
  bpchar: textType('character', 'bpchar', { cutsSpaces: true, pads: true }),
  text: textType('text', 'text', { cutsSpaces: false, pads: false }),
}

function textType(
  dataType: string,
  castName: string,
  rule: { cutsSpaces: boolean; pads: boolean },
): ColumnType {
  return {
    dataType,
    kind: 'text',
    form: rule.pads ? 'padded with spaces to its length' : 'text',
    lengthUnit: 'characters',
    order: rule.pads ? 'trimmed' : 'stored',
    read(json, { length }) {
      const text = readText(json)
      if (typeof text !== 'string' || length === null) return text
      const count = codePointCount(text)
      if (count > length) {
        const cut = rule.cutsSpaces ? cutSpaces(text, length) : undefined
        return cut ?? { found: `${count} characters`, expected: `at most ${length}` }
      }
      return rule.pads ? text + ' '.repeat(length - count) : text
    },
    operand: (json) => readText(json),
    print: (stored) => stored,
    renderDefault: (given) => quoteDefault(given, castName),
  }
}

/** Accepts text that every database can hold. */
function readText(json: unknown): Stored | ValueFault {
  if (typeof json !== 'string') return { found: describeFound(json), expected: 'a string' }
  if (json.includes('\0'))
    return { found: 'the character U+0000', expected: 'a string without it (text cannot hold it)' }
  if (!json.isWellFormed())
    return { found: 'a lone surrogate', expected: 'a string of whole characters (UTF-8 cannot hold it)' }
  return json
}

/** Counts without an array of the characters: text may be megabytes. */
function codePointCount(text: string): number {
  let count = text.length
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit >= 0xd800 && unit < 0xdc00) count-- // a surrogate pair is one character
  }
  return count
}

/** Returns the first `length` characters when only spaces follow; else undefined. */
function cutSpaces(text: string, length: number): string | undefined {
  let at = 0
  for (let count = 0; count < length; count++) at += (text.codePointAt(at) as number) > 0xffff ? 2 : 1
  return /^ *$/.test(text.slice(at)) ? text.slice(0, at) : undefined
}
