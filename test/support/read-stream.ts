import { isMarked, type RawJson } from '../../src/rpc/result.js'

/**
 * The value of a method's result, whether it is one, text, or a stream of text; and how many chunks it came
 * in.
 */
export async function readResult(result: unknown): Promise<{ value: unknown; chunks: number }> {
  if (!isMarked(result)) return { value: result, chunks: 0 }
  if (result.kind === 'rawJson') return { value: JSON.parse(rawText(result)), chunks: 1 }
  let text = ''
  let chunks = 0
  for await (const chunk of result.chunks) {
    text += chunk
    chunks++
  }
  return { value: JSON.parse(text), chunks }
}

/** Text of a result that is text or bytes. */
export function rawText({ text }: RawJson): string {
  return typeof text === 'string' ? text : new TextDecoder('utf-8', { fatal: true }).decode(text)
}
