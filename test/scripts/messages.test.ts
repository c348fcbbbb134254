import { readFileSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'

/** Words of the validator, and of the language: a caller knows neither. */
const NOT_OF_THE_WIRE =
  /\breceived\b|\bInvalid (?:input|option|string|type|key|element)\b|\bToo (?:small|big)\b|\bUnrecogni[sz]ed\b|\bexpected (?:string|number|int|boolean|object|array|record|undefined|never)\b|\bzod\b|\[object|\bexpected (?:to have )?[<>]=/

/** Every text of an error, without its file. The sources are read once. */
const texts = readTexts()

async function readTexts(): Promise<string[]> {
  const script = pathToFileURL(path.resolve('scripts/messages.mjs')).href
  const { messageTexts } = (await import(script)) as { messageTexts(): string[] }
  return messageTexts().map((text) => text.replace(/^\S+: /, ''))
}

t.test('messages: docs/messages.md has each text of an error in the sources', async (t) => {
  const page = readFileSync('docs/messages.md', 'utf8')
  const all = await texts
  t.ok(all.length > 900, `${all.length} texts`)
  const missing = all.filter((text) => !page.includes(`: ${text}\n`))
  t.same(missing, [], '`npm run docs` writes it')
})

t.test('messages: none is in the words of the validator', async (t) => {
  // what is quoted or differs from case to case may be any word
  const own = (text: string) => text.replaceAll(/\{[^}]*\}|"[^"]*"/g, '')
  t.same(
    (await texts).filter((text) => NOT_OF_THE_WIRE.test(own(text))),
    [],
  )
})

t.test('messages: a found value comes with what was expected, or what to do', async (t) => {
  const isHalf = (text: string) => /\bfound \{/i.test(text) && !/\bexpected\b|: |; |\(/.test(text)
  t.same((await texts).filter(isHalf), [])
})
