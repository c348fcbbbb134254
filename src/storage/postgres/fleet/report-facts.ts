import type { RolloutMember } from '../../exchange/fleet.js'

/**
 * Facts of a report that are asked for of many gateways at a time. They are read when the report comes: reading
 * JSON inside the database would fail for all, where one gateway sends a text that PostgreSQL does not take.
 */
export interface ReportFacts {
  readonly isReady: boolean
  /** `open` until the gateway runs the release; a refused one is as any refused part */
  readonly release: RolloutMember['release']
  /** a part of the profile was put back */
  readonly hasRollback: boolean
  /** age of the oldest row or model that waits, s; null for none */
  readonly oldestS: number | null
  /** clock of the gateway, µs UTC */
  readonly clockUs: number | null
  /** doctor has found something there */
  readonly hasFinding: boolean
  /** longitude and latitude, degrees */
  readonly position: readonly [number | null, number | null]
}

/** Reads the facts of a report. @param text the report as it is stored */
export function readReportFacts(report: unknown, text: string): ReportFacts {
  return {
    isReady: memberOf(report, 'ready') !== false,
    release: releaseOf(memberOf(memberOf(report, 'profile'), 'items')),
    // inside a string of JSON the quotation marks would be escaped
    hasRollback: text.includes('"state":"rolled_back"'),
    oldestS: wholeOf(memberOf(memberOf(report, 'backlog'), 'oldest_s')),
    clockUs: wholeOf(memberOf(report, 'clock_us')),
    hasFinding: (memberOf(report, 'doctor') ?? null) !== null,
    position: positionOf(memberOf(report, 'position')),
  }
}

function wholeOf(value: unknown): number | null {
  return Number.isSafeInteger(value) ? Number(value) : null
}

function positionOf(value: unknown): ReportFacts['position'] {
  const [lng, lat] = Array.isArray(value) ? value : []
  return Number.isFinite(lng) && Number.isFinite(lat) ? [lng, lat] : [null, null]
}

function releaseOf(items: unknown): ReportFacts['release'] {
  if (!Array.isArray(items)) return null
  const states = items
    .filter((item) => String(memberOf(item, 'item')).startsWith('release '))
    .map((item) => memberOf(item, 'state'))
  if (states.includes('rolled_back')) return 'rolled_back'
  return states.includes('staged') || states.includes('waiting') ? 'open' : null
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}
