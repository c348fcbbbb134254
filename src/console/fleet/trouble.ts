import { formatHours, t, type Word } from '../core/i18n.js'
import type { Gateway, Trouble } from './read.js'

type Kind = 'bad' | 'warn' | 'good' | ''

/** Kinds of worst troubles as the hub orders them, with their names and their weight. */
const KINDS: Record<Trouble, { word: Word; kind: Kind }> = {
  revoked: { word: 'revokedState', kind: 'bad' },
  silent: { word: 'troubleSilent', kind: 'bad' },
  not_ready: { word: 'notReady', kind: 'bad' },
  put_back: { word: 'troublePutBack', kind: 'bad' },
  behind: { word: 'troubleBehind', kind: 'warn' },
  clock: { word: 'troubleClock', kind: 'warn' },
  finding: { word: 'troubleFinding', kind: 'warn' },
  partly: { word: 'troublePartly', kind: 'warn' },
  outdated: { word: 'troubleOutdated', kind: 'good' },
  none: { word: 'inOrder', kind: 'good' },
  left: { word: 'leftState', kind: '' },
}

/** Kinds of worst troubles, the worst first. */
export const TROUBLES = Object.keys(KINDS) as Trouble[]
export const kindWord = (trouble: Trouble): Word => KINDS[trouble].word
export const kindOf = (trouble: Trouble): Kind => KINDS[trouble].kind

/** Colours on a map, light or dark; distinguishable with colour vision deficiencies, and drawn in different sizes. */
export const KIND_COLOURS: Record<Kind, string> = {
  bad: '#d1352b',
  warn: '#e8a317',
  good: '#2f7fb8',
  '': '#8a979e',
}

/** Time without a report after which a gateway is silent, s. */
const SILENT_S = 3600
/** Difference of clocks from which it is trouble, s. */
const CLOCK_S = 300

/** Seconds since a gateway reported; null when it never did. */
export function ageS({ last_seen }: Pick<Gateway, 'last_seen'>, nowMs = Date.now()): number | null {
  return last_seen === null ? null : Math.max(0, (nowMs - Date.parse(last_seen.val)) / 1000)
}

/** Reports whether a member has not reported for an hour. */
function isSilent(gateway: Pick<Gateway, 'last_seen' | 'state'>, nowMs = Date.now()): boolean {
  const age = ageS(gateway, nowMs)
  return gateway.state === 'member' && (age === null || age > SILENT_S)
}

/**
 * Returns what needs a look at a gateway, the worst first.
 *
 * @param newest newest version of its profile
 */
export function troubleOf(gateway: Gateway, newest: number | undefined, nowMs = Date.now()): string[] {
  const { state, report, outcome, applied, last_seen } = gateway
  if (state !== 'member') return []
  const found: string[] = []
  const age = ageS(gateway, nowMs)
  if (isSilent(gateway, nowMs))
    found.push(t('silentSince', { age: age === null ? '–' : formatHours(age / 3600) }))
  if (report?.ready === false) found.push(t('notReadyParts', { parts: report.parts.join(', ') }))
  if (outcome === 'put_back') found.push(t('putBackReason', { reason: report?.profile.reason ?? '' }))
  if (outcome === 'partly')
    for (const { item, reason } of (report?.profile.items ?? []).slice(0, 3))
      found.push(`${item}: ${reason ?? ''}`)
  if (report !== null && last_seen !== null) {
    const offS = Math.abs(report.clock_us / 1e6 - Date.parse(last_seen.val) / 1000)
    if (offS > CLOCK_S) found.push(t('clockOff', { age: formatHours(offS / 3600) }))
  }
  if (report !== null && report.doctor !== null) found.push(report.doctor)
  if (newest !== undefined && applied !== newest) found.push(t('oldProfile'))
  return found
}
