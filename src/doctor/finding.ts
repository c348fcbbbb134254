import type { Config } from '../config/config.js'
import type { DataLayout } from '../files/layout.js'
import type { Maintenance } from '../storage/maintenance.js'

export type CheckState = 'ok' | 'warning' | 'error'

/** One result of a check. */
export interface Finding {
  state: CheckState
  /** what was found, and what was expected where that is not obvious */
  message: string
  /** action to take; null when none is needed */
  advice: string | null
}

/** A named check with its findings; its state is the worst of theirs. */
export interface Check {
  name: string
  state: CheckState
  findings: Finding[]
}

/** Input of every check. No check writes anything. */
export interface CheckContext {
  readonly config: Config
  /** the settings file, null when there is none */
  readonly configFile: string | null
  readonly layout: DataLayout
  readonly maintenance: Maintenance
  /** wall clock, µs */
  readonly nowUs: number
  /** false leaves out requests over the network */
  readonly isOnline: boolean
  readonly version: string
  /** called with the name of what is checked next, where a check takes long */
  onProgress?(what: string): void
}

export const ok = (message: string): Finding => ({ state: 'ok', message, advice: null })
export const warning = (message: string, advice: string): Finding => ({ state: 'warning', message, advice })
export const error = (message: string, advice: string): Finding => ({ state: 'error', message, advice })

/** Worst of some states; `ok` when there are none. */
export function worst(states: readonly CheckState[]): CheckState {
  if (states.includes('error')) return 'error'
  return states.includes('warning') ? 'warning' : 'ok'
}

/** `64.0 MB`, of 1,000,000 bytes each. */
export function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`
}

/** `2026-11-21T23:45:56.000Z` for µs since 1970. */
export function isoTime(us: number): string {
  return new Date(us / 1000).toISOString()
}
