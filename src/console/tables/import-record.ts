import type { Feature } from './read-file.js'

/**
 * Record for one feature. One without any time gets `timeIso` as its start and its end; one with a single time
 * keeps the other one null.
 *
 * @param timeIso null when the user gave no time: the record has none then
 */
export function recordOf(feature: Feature, timeIso: string | null): Feature {
  const { start_datetime: start, end_datetime: end, ...properties } = feature.properties ?? {}
  const isTimeless = isMissing(start) && isMissing(end)
  const times = isTimeless
    ? { start_datetime: timeIso, end_datetime: timeIso }
    : { start_datetime: start ?? null, end_datetime: end ?? null }
  return { ...feature, properties: { ...times, ...properties } }
}

function isMissing(time: unknown): boolean {
  return time === null || time === undefined
}

/**
 * Position in the file of a record that the gateway refused.
 *
 * @param data of the error; `line` counts the lines of the request body from 1
 * @param sentBefore number of records in the parts before the refused one
 * @param lines line of each record in the file, from 1; undefined where records are not lines
 * @returns undefined when the error names no line
 */
export function placeOfFault(
  data: Readonly<Record<string, unknown>>,
  sentBefore: number,
  lines: readonly number[] | undefined,
): { line: number } | { record: number } | undefined {
  if (typeof data.line !== 'number') return undefined
  const record = sentBefore + data.line
  const line = lines?.[record - 1]
  return line === undefined ? { record } : { line }
}
