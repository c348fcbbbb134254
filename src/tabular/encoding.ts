import { fileFault } from './faults.js'

/** Encodings of text files that can be chosen; the names are those of the WHATWG standard. */
export const ENCODINGS = ['utf-8', 'utf-16le', 'utf-16be', 'shift_jis', 'euc-jp', 'windows-1252'] as const
export type Encoding = (typeof ENCODINGS)[number]

/** Returns the encoding that a byte order mark states; undefined without one. */
export function markedEncoding(head: Uint8Array): Encoding | undefined {
  const [a, b, c] = head
  if (a === 0xef && b === 0xbb && c === 0xbf) return 'utf-8'
  if (a === 0xff && b === 0xfe) return 'utf-16le'
  return a === 0xfe && b === 0xff ? 'utf-16be' : undefined
}

/**
 * Decodes text that arrives in pieces. A byte order mark is left out.
 *
 * @throws FileFault ENCODING for bytes that the encoding does not have, NUL for a character 0, which text of
 *   another encoding gives
 */
export async function* decoded(
  chunks: AsyncIterable<Uint8Array>,
  encoding: Encoding,
): AsyncGenerator<string> {
  const decoder = new TextDecoder(encoding, { fatal: true })
  const choices = ENCODINGS.filter((each) => each !== encoding).join(', ')
  let line = 1
  for await (const chunk of chunks) {
    let text: string
    try {
      text = decoder.decode(chunk, { stream: true })
    } catch {
      throw fileFault('ENCODING', { line: line + linesBeforeFault(chunk, encoding), encoding, choices })
    }
    const nul = text.indexOf('\0')
    if (nul !== -1) throw fileFault('NUL', { line: line + lineEnds(text.slice(0, nul)), encoding, choices })
    line += lineEnds(text)
    if (text !== '') yield text
  }
  try {
    const rest = decoder.decode()
    if (rest !== '') yield rest
  } catch {
    throw fileFault('ENCODING', { line, encoding, choices })
  }
}

/** Number of line ends of a chunk before its first fault. */
function linesBeforeFault(chunk: Uint8Array, encoding: Encoding): number {
  const text = new TextDecoder(encoding).decode(chunk)
  const at = text.indexOf('\uFFFD')
  return lineEnds(at === -1 ? text : text.slice(0, at))
}

function lineEnds(text: string): number {
  let count = 0
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) count++
  return count
}
