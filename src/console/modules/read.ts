import { call } from '../core/rpc.js'

/** Start of a trigger: exactly one of its members is there, beside those that belong to it. */
export interface TriggerOn {
  schedule?: string
  time_zone?: string
  table?: string
  model_store_ddc?: string
  startup?: true
}

/** A run of a trigger. */
export interface RunInfo {
  run: number
  trigger: string
  state: 'running' | 'done' | 'failed' | 'cancelled' | 'interrupted' | 'missed' | 'skipped'
  due: string
  until: string
  count: number
  started: string | null
  seconds: number | null
  attempts: number
  exit_code: number | null
  message: string | null
  last_lines: string | null
}

/** A trigger. */
export interface TriggerInfo {
  name: string
  on: TriggerOn
  module: string
  method: string
  enabled: boolean
  next: string | null
  running: boolean
  last_run: RunInfo | null
}

/** An installed module. */
export interface ModuleInfo {
  name: string
  folder?: string
  scripts?: Record<string, { type: string }>
  faults?: { path: string; message: string }[]
}

export const readModules = () => call<ModuleInfo[]>('dataproc.list_modules', {})

export const readTriggers = () =>
  call<{ triggers: TriggerInfo[]; waits_for_clock: boolean }>('dataproc.list_triggers', {})

export const readRuns = () => call<RunInfo[]>('dataproc.list_trigger_runs', { limit: 100 })
