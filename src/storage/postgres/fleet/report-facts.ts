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
}

/** Reads the facts of a report. @param text the report as it is stored */
export function readReportFacts(report: unknown, text: string): ReportFacts {
  return {
    isReady: memberOf(report, 'ready') !== false,
    release: releaseOf(memberOf(memberOf(report, 'profile'), 'items')),
    // inside a string of JSON the quotation marks would be escaped
    hasRollback: text.includes('"state":"rolled_back"'),
  }
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
