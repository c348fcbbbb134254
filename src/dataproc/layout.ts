import { mkdirSync } from 'node:fs'
import path from 'node:path'

/** Where dataproc keeps things. The only place where names of modules, labels and ids of runs become paths. */
export interface DataprocLayout {
  readonly modulesDir: string
  /** one directory a run; emptied at start */
  readonly runsDir: string
  readonly sessionsDir: string
  readonly applicationsDir: string
  readonly logsDir: string
}

/** What a run finds in its directory. */
export interface RunPaths {
  readonly root: string
  readonly configuration: string
  readonly input: string
  readonly output: string
  readonly work: string
  /** stands for a directory that outlives the run */
  readonly session: string
  /** stands for a directory that outlives the run */
  readonly application: string
}

const MODULE_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/
const LABEL = /^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$/
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

export const MODULE_NAME_RULE = '1 to 63 letters of a to z, digits or any of . _ -, a letter or digit first'
export const LABEL_RULE = '1 to 63 letters of a to z, digits or any of _ -, a letter or digit first'

/** Such a name is one step of a path: no separator, no `..`, nothing that two systems write differently. */
export function isModuleName(name: string): boolean {
  return MODULE_NAME.test(name)
}

/** Labels of inputs and outputs, which name files. */
export function isLabel(label: string): boolean {
  return LABEL.test(label)
}

/** What the gateway found out about how runs can be kept apart. */
export function isolationFile(dataprocDir: string): string {
  return path.join(dataprocDir, 'isolation.json')
}

/** Makes the directories, for this user alone. */
export function makeDataprocLayout(dataprocDir: string, modulesDir: string): DataprocLayout {
  const layout = {
    modulesDir: path.resolve(modulesDir),
    runsDir: path.join(dataprocDir, 'runs'),
    sessionsDir: path.join(dataprocDir, 'sessions'),
    applicationsDir: path.join(dataprocDir, 'applications'),
    logsDir: path.join(dataprocDir, 'logs'),
  }
  const { runsDir, sessionsDir, applicationsDir, logsDir } = layout
  for (const dir of [runsDir, sessionsDir, applicationsDir, logsDir])
    mkdirSync(dir, { recursive: true, mode: 0o700 })
  return layout
}

export function modulePath({ modulesDir }: DataprocLayout, name: string): string {
  return path.join(modulesDir, checked(name, isModuleName))
}

export function runPaths({ runsDir }: DataprocLayout, runId: string): RunPaths {
  const root = path.join(runsDir, checked(runId, isUuid))
  const below = (name: string) => path.join(root, name)
  return {
    root,
    configuration: below('configuration.json'),
    input: below('input'),
    output: below('output'),
    work: below('work'),
    session: below('session'),
    application: below('application'),
  }
}

/** What all modules have in a session. */
export function sessionPath({ sessionsDir }: DataprocLayout, sessionId: string): string {
  return path.join(sessionsDir, checked(sessionId, isUuid))
}

/** What one module has in a session: shared by its scripts, never by another module. */
export function sessionModulePath(layout: DataprocLayout, sessionId: string, module: string): string {
  return path.join(sessionPath(layout, sessionId), checked(module, isModuleName))
}

export function applicationPath({ applicationsDir }: DataprocLayout, module: string): string {
  return path.join(applicationsDir, checked(module, isModuleName))
}

/** @param startedAtUs orders the logs by their names */
export function logPath({ logsDir }: DataprocLayout, startedAtUs: number, runId: string): string {
  return path.join(logsDir, `${String(startedAtUs).padStart(17, '0')}-${checked(runId, isUuid)}`)
}

/** A file of an input or output. @param end what follows the label, for instance `.csv` */
export function labelledPath(dir: string, label: string, end: string): string {
  return path.join(dir, `${checked(label, isLabel)}${end}`)
}

export function isUuid(text: string): boolean {
  return UUID.test(text)
}

/** The borders have refused such names already. */
function checked(name: string, isGood: (name: string) => boolean): string {
  if (!isGood(name)) throw new Error(`found ${JSON.stringify(name.slice(0, 100))}, expected a checked name`)
  return name
}
