import type { Config } from '../config.js'
import type { DataLayout } from '../files/layout.js'

export type CheckState = 'ok' | 'warning' | 'error'

/** One thing that a check found. */
export interface Finding {
  state: CheckState
  /** what was found, and what was expected where that is not clear */
  message: string
  /** what to do; null when there is nothing to do */
  advice: string | null
}

/** A named check with all it found; its state is the worst of them. */
export interface Check {
  name: string
  state: CheckState
  findings: Finding[]
}

/** What every check may look at. Nothing is written. */
export interface Patient {
  readonly config: Config
  /** the settings file, null when there is none */
  readonly configFile: string | null
  readonly layout: DataLayout
  /** wall clock, µs */
  readonly nowUs: number
  /** false leaves out what needs the network */
  readonly isOnline: boolean
  readonly version: string
  /** told what is being looked at, for what takes long */
  onProgress?(what: string): void
}

export const ok = (message: string): Finding => ({ state: 'ok', message, advice: null })
export const warning = (message: string, advice: string): Finding => ({ state: 'warning', message, advice })
export const error = (message: string, advice: string): Finding => ({ state: 'error', message, advice })

export function worst(states: readonly CheckState[]): CheckState {
  if (states.includes('error')) return 'error'
  return states.includes('warning') ? 'warning' : 'ok'
}

/** `64.0 MB` */
export function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`
}

export function isoTime(us: number): string {
  return new Date(us / 1000).toISOString()
}
