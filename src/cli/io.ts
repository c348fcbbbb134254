import { CommanderError } from 'commander'
import { messageOf } from '../errors.js'
import type { Log, LogLevel } from '../log.js'

/** Output stream. `isTTY` is true for a terminal, where a progress bar can be drawn. */
export interface TextOut {
  write(text: string): unknown
  readonly isTTY?: boolean | undefined
  readonly columns?: number | undefined
}

/** Output of a verb. Results go to stdout, everything else to stderr. */
export interface CliIo {
  readonly stdout: TextOut
  readonly stderr: TextOut
  /** 0 ok, 1 failed, 2 wrong usage; the last call wins */
  setExitCode(code: number): void
}

/** Environment of a verb. */
export interface CliDeps {
  readonly env: Record<string, string | undefined>
  /** folder that relative paths in flags and environment variables start from */
  readonly cwd: string
  /** file that worker threads run: this program itself */
  readonly entryFile: string
  readonly version: string
  createLog(level: LogLevel): Log
  /**
   * keeps the heap of this process small, for a process that runs for months
   *
   * @param isHub old objects are collected soon, and the command line says how many young ones may be held
   */
  keepHeapSmall(isHub?: boolean): void
  /** makes files created from now on readable by this user only */
  makeFilesPrivate(): void
  /** @returns a function that stops listening */
  onSignal(signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP', act: () => void): () => void
}

/** Options of every verb, before or after its name. Read them with `command.optsWithGlobals()`. */
export interface GlobalOptions {
  config?: string
  dataDir?: string
  json?: boolean
}

/** Error in the arguments, found after they were parsed: exit code 2. */
export function usageError(message: string): CommanderError {
  return new CommanderError(2, 'fieldgate.usage', message)
}

/** Message of a thrown value as one line of at most 1000 characters, without control characters. */
export function oneLine(error: unknown): string {
  const text = messageOf(error)
    .replace(/^error: /, '')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to remove
    .replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ')
    .trim()
  return text.length > 1000 ? `${text.slice(0, 1000)}…` : text
}

/** Writes a result for scripts: one line of JSON on stdout. */
export function printJson(io: CliIo, fact: unknown): void {
  io.stdout.write(`${JSON.stringify(fact)}\n`)
}
