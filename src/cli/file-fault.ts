import { existsSync } from 'node:fs'
import path from 'node:path'
import { oneLine } from './io.js'

/** The system's codes in words. */
const WORDS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'there is no such file',
  EISDIR: 'this is a directory, expected a file',
  EACCES: 'the file may not be read by this user',
}

/** What went wrong in reading a file that the caller named, with its name before it. */
export function fileFault(error: unknown, file: string): Error {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const text = oneLine(error)
  if (WORDS[code] === undefined && text.includes(file) && error instanceof Error) return error
  return new Error(`${file}: ${WORDS[code] ?? text}`, { cause: error })
}

/** Told before the work is done, not after. @throws Error when the folder of an output file is not there */
export function checkFolder(file: string): void {
  const folder = path.dirname(file)
  if (!existsSync(folder)) throw new Error(`--output: the folder ${folder} does not exist: make it first`)
}
