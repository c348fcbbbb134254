import { AppError } from '../errors.js'
import type { Format } from './types.js'

/** Values of `f=`. */
const SPELLINGS: Record<string, Format> = { json: 'json', geojson: 'json', html: 'html' }

interface Range {
  readonly type: string
  readonly weight: number
}

/**
 * Returns the format of a response: that of `f`, else the one that the Accept header prefers, JSON if it has
 * no preference.
 *
 * @param jsonTypes media types that select the JSON form of the resource
 * @throws AppError INVALID_PARAMS for an unknown `f`, NOT_ACCEPTABLE when the header allows neither form
 */
export function chooseFormat(
  f: string | null,
  accept: string | undefined,
  jsonTypes: readonly string[],
): Format {
  if (f !== null) {
    const format = Object.hasOwn(SPELLINGS, f) ? SPELLINGS[f] : undefined
    if (format !== undefined) return format
    const message = `f: found ${JSON.stringify(f.slice(0, 40))}, expected json or html`
    throw new AppError('INVALID_PARAMS', { parameter: 'f' }, { message })
  }
  if (accept === undefined || accept.trim() === '') return 'json'
  const ranges = readAccept(accept)
  const json = Math.max(...jsonTypes.map((type) => weightOf(ranges, type)))
  const html = weightOf(ranges, 'text/html')
  if (json <= 0 && html <= 0) {
    const message = `Accept: found ${accept.slice(0, 100)}, expected ${jsonTypes.join(', ')} or text/html`
    throw new AppError('NOT_ACCEPTABLE', {}, { message })
  }
  return html > json ? 'html' : 'json'
}

function readAccept(accept: string): Range[] {
  return accept.split(',').map((part) => {
    const [type = '', ...params] = part.split(';').map((text) => text.trim().toLowerCase())
    const weight = params.find((param) => param.startsWith('q='))
    return { type, weight: weight === undefined ? 1 : Number(weight.slice(2)) || 0 }
  })
}

/**
 * Returns the weight of the most specific matching range (RFC 9110, 12.5.1). Parameters except `q` are
 * ignored.
 */
function weightOf(ranges: readonly Range[], type: string): number {
  const [group = ''] = type.split('/')
  const plain = type.split(';')[0]
  for (const wanted of [plain, `${group}/*`, '*/*']) {
    const fitting = ranges.filter((range) => range.type === wanted)
    if (fitting.length > 0) return Math.max(...fitting.map(({ weight }) => weight))
  }
  return 0
}
