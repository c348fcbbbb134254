import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Test } from 'tap'

/** Compares a text with `test/golden/<name>`. UPDATE_GOLDEN=1 writes it. */
export function matchGolden(t: Test, name: string, text: string): void {
  const file = path.join('test', 'golden', name)
  if (process.env.UPDATE_GOLDEN === '1') {
    mkdirSync(path.dirname(file), { recursive: true })
    writeFileSync(file, text)
  }
  t.equal(existsSync(file) ? readFileSync(file, 'utf8') : '', text, `${file} (UPDATE_GOLDEN=1 writes it)`)
}

/** An error as a caller receives it. */
interface WireError {
  readonly message: string
  readonly data: { readonly name: string; readonly faults?: readonly { path: string; message: string }[] }
}

/** Words of the validator, and of JavaScript: a caller knows the wire and neither of them. */
const NOT_OF_THE_WIRE =
  /\breceived\b|Invalid (?:input|option|string|type|key|element)|Too (?:small|big)|Unrecogni[sz]ed|expected (?:string|number|int|boolean|object|array|record|undefined|never)\b|\bzod\b|undefined|\[object|\bNaN\b|expected (?:to have )?[<>]=\d/i

/** Collects messages for a golden list. A message in the words of the validator fails the test. */
export function messageList(t: Test): { add(place: string, error: WireError): void; text(): string } {
  const lines = new Set<string>()
  return {
    add(place, { message, data: { name, faults = [] } }) {
      for (const text of [
        message,
        ...faults.slice(1).map(({ path: at, message: fault }) => `  ${at}: ${fault}`),
      ]) {
        // what the caller sent may contain any word
        const own = text.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""')
        t.notMatch(own, NOT_OF_THE_WIRE, `${place}: ${text}`)
        lines.add(`${place} | ${name} | ${steady(text)}`)
      }
    },
    text: () => `${[...lines].join('\n')}\n`,
  }
}

/** Replaces what differs from run to run. */
function steady(text: string): string {
  return text
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '<uuid>')
    .replaceAll(/\b[0-9a-f]{64}\b/g, '<sha256>')
    .replaceAll(/\b(\w+)_\d{10}(?:\.\d+)?/g, '$1_<time>')
    .replaceAll(/127\.0\.0\.1:\d+/g, '<address>')
}
