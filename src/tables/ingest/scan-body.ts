import { isAppError } from '../../errors.js'
import { loneSurrogate, loneSurrogateAt } from '../../json/lone-surrogates.js'
import {
  END,
  forEachElement,
  forEachMember,
  type JsonCursor,
  OPEN_ARRAY,
  OPEN_OBJECT,
  offsetOf,
  openCursor,
  peek,
  skipValue,
  unexpected,
} from './json-cursor.js'
import { readElementTexts } from './read-elements.js'

/**
 * One request of a body: bytes `start` to `end`, and within them the elements of `params.record_set`, if any.
 */
export interface ScannedRequest {
  readonly start: number
  readonly end: number
  readonly recordSet: { readonly start: number; readonly end: number } | null
}

/** Requests of a body. */
export interface ScannedBody {
  readonly isBatch: boolean
  /** at most `maxBatch + 1`, the last of which shows that the batch is too large */
  readonly requests: readonly ScannedRequest[]
  /** a string outside the elements of every `record_set` has half of a character */
  readonly hasLoneSurrogate: boolean
}

export interface ScanLimits {
  /** deepest nesting of arrays and objects */
  maxDepth: number
  maxBatch: number
  /** most bytes of a record, which is read as a whole where a lone surrogate is looked for; absent: no limit */
  maxRecordBytes?: number
}

/**
 * Finds the requests of a JSON-RPC body in a file, and the position of `params.record_set` in each, in any
 * order of keys, with one chunk of the file in memory. Of duplicate keys the last one counts, as in
 * `JSON.parse`.
 *
 * Brackets, strings, commas and colons are checked; the contents of values are checked when they are parsed.
 *
 * @throws AppError PARSE_ERROR with the byte at which the body is not JSON; INVALID_REQUEST when it is nested
 *   too deep, or a record has a lone surrogate
 */
export function scanBody(handle: number, limits: ScanLimits): ScannedBody {
  const cursor = openCursor(handle, limits.maxDepth)
  const requests: ScannedRequest[] = []
  const isBatch = peek(cursor) === OPEN_ARRAY
  if (!isBatch) requests.push(scanRequest(cursor, 0))
  else {
    forEachElement(cursor, () => {
      if (requests.length <= limits.maxBatch) requests.push(scanRequest(cursor, 1))
      else skipValue(cursor, 1)
    })
  }
  if (peek(cursor) !== END) throw unexpected(cursor, 'the end of the body')
  if (cursor.hasLoneSurrogate) {
    for (const [index, request] of requests.entries())
      checkRecords(handle, request, `${isBatch ? `$[${index}]` : '$'}.params.record_set`, limits)
  }
  return { isBatch, requests, hasLoneSurrogate: cursor.hasLoneSurrogate }
}

/**
 * Refuses records with a lone surrogate, as a body in memory is refused. A record that is too large is refused
 * when it is stored, so the search ends there.
 *
 * @throws AppError INVALID_REQUEST
 */
function checkRecords(
  handle: number,
  { recordSet }: ScannedRequest,
  path: string,
  { maxRecordBytes }: Pick<ScanLimits, 'maxRecordBytes'>,
): void {
  if (recordSet === null) return
  const options = maxRecordBytes === undefined ? {} : { maxBytes: maxRecordBytes }
  let index = 0
  try {
    for (const { value, text } of readElementTexts(handle, recordSet.start, recordSet.end, options)) {
      const found = loneSurrogateAt(text, value, `${path}[${index++}]`)
      if (found !== undefined) throw loneSurrogate(found)
    }
  } catch (error) {
    if (!isAppError(error) || error.errorName !== 'BAD_RECORD') throw error
  }
}

/**
 * Finds the position of `record_set` in a body that is the params alone, as in the REST form.
 *
 * @throws AppError PARSE_ERROR, INVALID_REQUEST
 */
export function scanParamsBody(handle: number, limits: Omit<ScanLimits, 'maxBatch'>): ScannedRequest {
  const cursor = openCursor(handle, limits.maxDepth)
  const isObject = peek(cursor) === OPEN_OBJECT
  const start = offsetOf(cursor)
  let recordSet: ScannedRequest['recordSet'] = null
  if (isObject) recordSet = scanParams(cursor, 0)
  else skipValue(cursor, 0)
  const end = offsetOf(cursor)
  if (peek(cursor) !== END) throw unexpected(cursor, 'the end of the body')
  const request = { start, end, recordSet }
  if (cursor.hasLoneSurrogate) checkRecords(handle, request, '$.record_set', limits)
  return request
}

/** Scans one request. The dispatcher refuses a request that is not an object. */
function scanRequest(cursor: JsonCursor, depth: number): ScannedRequest {
  const isObject = peek(cursor) === OPEN_OBJECT
  const start = offsetOf(cursor)
  let recordSet: ScannedRequest['recordSet'] = null
  if (!isObject) skipValue(cursor, depth)
  else {
    forEachMember(cursor, (key) => {
      if (key !== 'params') skipValue(cursor, depth + 1)
      else if (peek(cursor) === OPEN_OBJECT) recordSet = scanParams(cursor, depth + 1)
      else {
        recordSet = null
        skipValue(cursor, depth + 1)
      }
    })
  }
  return { start, end: offsetOf(cursor), recordSet }
}

/** Scans params. The array is skipped as a whole; `readElements` reads its elements one by one. */
function scanParams(cursor: JsonCursor, depth: number): ScannedRequest['recordSet'] {
  let recordSet: ScannedRequest['recordSet'] = null
  forEachMember(cursor, (key) => {
    const isArray = peek(cursor) === OPEN_ARRAY
    const start = offsetOf(cursor) + 1
    skipValue(cursor, depth + 1)
    if (key === 'record_set') recordSet = isArray ? { start, end: offsetOf(cursor) - 1 } : null
  })
  return recordSet
}

/**
 * Finds the elements of `features` of a GeoJSON FeatureCollection in a file; undefined when the file has
 * none.
 *
 * @throws AppError PARSE_ERROR, INVALID_REQUEST
 */
export function scanFeatures(handle: number, maxDepth: number): { start: number; end: number } | undefined {
  const cursor = openCursor(handle, maxDepth)
  if (peek(cursor) !== OPEN_OBJECT) return undefined
  let features: { start: number; end: number } | undefined
  forEachMember(cursor, (key) => {
    const isArray = peek(cursor) === OPEN_ARRAY
    const start = offsetOf(cursor) + 1
    skipValue(cursor, 1)
    if (key === 'features' && isArray) features = { start, end: offsetOf(cursor) - 1 }
  })
  if (peek(cursor) !== END) throw unexpected(cursor, 'the end of the file')
  return features
}
