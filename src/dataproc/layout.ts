import { mkdirSync } from 'node:fs'
import path from 'node:path'

/** Directories of dataproc. Only this file turns names of modules, labels and ids into paths. */
export interface DataprocLayout {
  readonly modulesDir: string
  /** one directory per run; emptied at start */
  readonly runsDir: string
  readonly sessionsDir: string
  readonly applicationsDir: string
  readonly logsDir: string
}

/** Paths in the directory of a run. */
export interface RunPaths {
  readonly root: string
  readonly configuration: string
  readonly input: string
  readonly output: string
  readonly work: string
  /** mount point of, or link to, a directory that outlives the run */
  readonly session: string
  /** mount point of, or link to, a directory that outlives the session */
  readonly application: string
}

const MODULE_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/
const LABEL = /^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$/
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

export const MODULE_NAME_RULE = '1 to 63 letters of a to z, digits or any of . _ -, a letter or digit first'
export const LABEL_RULE = '1 to 63 letters of a to z, digits or any of _ -, a letter or digit first'

/** Returns whether a text may name a module. Such a name is one step of a path: no separator and no `..`. */
export function isModuleName(name: string): boolean {
  return MODULE_NAME.test(name)
}

/** Returns whether a text may label an input or output. Labels name files. */
export function isLabel(label: string): boolean {
  return LABEL.test(label)
}

/** Returns the path of the isolation record. */
export function isolationFile(dataprocDir: string): string {
  return path.join(dataprocDir, 'isolation.json')
}

/** Creates the directories, accessible to this user only. */
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

/** Returns the folder of a module. */
export function modulePath({ modulesDir }: DataprocLayout, name: string): string {
  return path.join(modulesDir, checked(name, isModuleName))
}

/** Returns the paths of a run. */
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

/** Returns the directory of a session, which holds one per module. */
export function sessionPath({ sessionsDir }: DataprocLayout, sessionId: string): string {
  return path.join(sessionsDir, checked(sessionId, isUuid))
}

/** Returns the directory of a module in a session. Its scripts share it, other modules do not. */
export function sessionModulePath(layout: DataprocLayout, sessionId: string, module: string): string {
  return path.join(sessionPath(layout, sessionId), checked(module, isModuleName))
}

/** Returns the permanent directory of a module. */
export function applicationPath({ applicationsDir }: DataprocLayout, module: string): string {
  return path.join(applicationsDir, checked(module, isModuleName))
}

/** Returns the log directory of a run. @param startedAtUs start of the run, by which names sort */
export function logPath({ logsDir }: DataprocLayout, startedAtUs: number, runId: string): string {
  return path.join(logsDir, `${String(startedAtUs).padStart(17, '0')}-${checked(runId, isUuid)}`)
}

/** Returns the file of an input or output. @param end text after the label, for example `.csv` */
export function labelledPath(dir: string, label: string, end: string): string {
  return path.join(dir, `${checked(label, isLabel)}${end}`)
}

/** Returns whether a text is a UUID in lower case. */
export function isUuid(text: string): boolean {
  return UUID.test(text)
}

/** @throws Error for a bad name: names are checked where they enter */
function checked(name: string, isGood: (name: string) => boolean): string {
  if (!isGood(name)) throw new Error(`found ${JSON.stringify(name.slice(0, 100))}, expected a checked name`)
  return name
}
