import { parseExact } from '../../json/exact-json.js'
import { describeFound } from '../../messages/fault-text.js'
import { csvFields } from './csv.js'
import type { Misfit } from './time.js'

/** Form of a payload. */
export type PayloadForm = 'json' | 'csv' | 'number' | 'text'

/** Form of the line of a CSV payload. */
export interface CsvForm {
  readonly separator: string
  /** names of its fields, in their order */
  readonly fields: readonly string[]
}

const UTF8 = new TextDecoder('utf-8', { fatal: true })

/** Returns the text of a payload; undefined when it is not UTF-8. */
function textOf(payload: Uint8Array): string | undefined {
  try {
    return UTF8.decode(payload)
  } catch {
    return undefined // the caller says what was found
  }
}

/**
 * Reads a payload as the value in which paths are looked up: JSON as it is, the fields of a CSV line by their names,
 * and `{ value }` for a number or a text.
 */
export function readPayload(
  payload: Uint8Array,
  form: PayloadForm,
  csv: CsvForm,
): { value: unknown } | Misfit {
  const text = textOf(payload)
  if (text === undefined)
    return { misfit: `payload: found bytes that are not UTF-8, expected ${FORMS[form]}` }
  if (form === 'json') return readJson(text)
  if (form === 'text') return { value: { value: text } }
  if (form === 'csv') return readCsv(text.replace(/\r?\n$/, ''), csv)
  const number = text.trim()
  if (!/^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(number))
    return { misfit: `payload: found ${describeFound(text)}, expected a number` }
  return { value: { value: number } }
}

const FORMS: Readonly<Record<PayloadForm, string>> = {
  json: 'JSON',
  csv: 'a line of CSV',
  number: 'a number',
  text: 'text',
}

/** Reads JSON; numbers that a double would falsify keep their text. */
export function readJson(text: string): { value: unknown } | Misfit {
  try {
    return { value: parseExact(text) }
  } catch {
    // the parser says where, in characters that senders do not count
    return { misfit: `payload: found ${describeFound(text)}, expected JSON` }
  }
}

/** Reads the payload of a preset, whose form is JSON. */
export function readJsonPayload(payload: Uint8Array): { value: unknown } | Misfit {
  return readPayload(payload, 'json', NO_FIELDS)
}

const NO_FIELDS: CsvForm = { separator: ',', fields: [] }

function readCsv(line: string, { separator, fields }: CsvForm): { value: unknown } | Misfit {
  if (/[\r\n]/.test(line)) return { misfit: 'payload: found more than one line, expected one line of CSV' }
  const found = csvFields(line, separator)
  if (found === undefined)
    return { misfit: `payload: found ${describeFound(line)}, expected a line of CSV with closed quotes` }
  if (found.length !== fields.length)
    return {
      misfit: `payload: found ${found.length} fields, expected ${fields.length}: ${fields.join(', ')}`,
    }
  // an empty field is no value, as in the import of CSV
  const members = fields.map((name, at) => [name, found[at] === '' ? null : found[at]] as const)
  return { value: Object.fromEntries(members) }
}
