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
