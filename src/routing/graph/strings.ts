import type { Graph } from './graph.js'

const decoder = new TextDecoder()

/** Reads a string of the pool; '' for offset 0. */
export function readString(graph: Pick<Graph, 'strings'>, offset: number): string {
  if (offset === 0) return ''
  const [from, end] = stringRange(graph, offset)
  // a copy, because TextDecoder refuses views of shared memory
  return decoder.decode(graph.strings.slice(from, end))
}

/** Returns the range of a string's bytes in the pool, empty for offset 0. */
export function stringRange(
  { strings }: Pick<Graph, 'strings'>,
  offset: number,
): [from: number, end: number] {
  if (offset === 0) return [0, 0]
  // u32, little endian, read by bytes: strings are not aligned
  const length =
    strings[offset]! |
    (strings[offset + 1]! << 8) |
    (strings[offset + 2]! << 16) |
    (strings[offset + 3]! << 24)
  return [offset + 4, offset + 4 + length]
}

/** Reads the notes of a link: conditional restrictions and the like, as text. */
export function readNotes(graph: Pick<Graph, 'strings' | 'linkNotes'>, link: number): string[] {
  const text = readString(graph, graph.linkNotes[link]!)
  return text === '' ? [] : text.split('\u001f')
}
