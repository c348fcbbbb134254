import { h } from '../core/dom.js'
import { errorSentence } from '../core/fault-text.js'
import { t } from '../core/i18n.js'
import type { Page } from '../core/page.js'
import { loaded, prose, table } from '../core/parts.js'
import { getJson } from '../core/rpc.js'
import { facts } from '../core/session.js'
import { currentSettings } from '../core/settings.js'
import { ADVISED, adviceFor } from '../help/advice.js'
import { conceptPicture } from '../help/picture.js'
import { helpTexts } from '../help/texts.js'
import type { OpenRpcMethod } from './api.js'

/**
 * Help page: quick start, concepts, recipes, and advice by error name; `#/help/NAME` scrolls to one error.
 */
export function helpPage([errorName]: readonly string[]): Page {
  const { language } = currentSettings()
  const { quick, concepts, recipes } = helpTexts(language)
  const methods = getJson('/openrpc.json').then(
    (document) => (document as { methods: OpenRpcMethod[] }).methods,
  )
  const element = h(
    'div',
    { class: 'stack' },
    h('h1', {}, t('navHelp')),
    h('h2', {}, t('helpQuick')),
    quick.map(line),
    h('h2', {}, t('helpConcepts')),
    loaded(async () =>
      h(
        'div',
        { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': t('helpConcepts') },
        await conceptPicture(await methods),
      ),
    ),
    concepts.map(line),
    h('h2', {}, t('helpRecipes')),
    recipes.map(({ title, lines }) => h('section', { class: 'card' }, h('h3', {}, title), lines.map(line))),
    h('h2', {}, t('helpTrouble')),
    loaded(async () => errorTable(await methods, errorName)),
    h(
      'p',
      { class: 'soft small' },
      t('version', { n: facts().version }),
      ' · ',
      h('a', { href: 'licences.txt' }, t('helpLicences')),
    ),
  )
  return { title: t('navHelp'), element }
}

/** Most methods that are listed per error; the API explorer has them all. */
const MOST_METHODS = 4

function line(text: string): HTMLElement {
  return text.startsWith('$ ') ? h('pre', { tabindex: 0 }, text.replace(/^\$ /gm, '')) : h('p', {}, text)
}

function errorTable(methods: readonly OpenRpcMethod[], wanted: string | undefined): HTMLElement {
  const found = new Map<string, { code: number; message: string; methods: Set<string> }>()
  for (const { name, errors } of methods) {
    for (const { code, message, data } of errors) {
      const entry = found.get(data.name) ?? { code, message, methods: new Set() }
      entry.methods.add(name)
      found.set(data.name, entry)
    }
  }
  // errors of the transport are not listed with any method
  for (const name of ADVISED)
    if (!found.has(name)) found.set(name, { code: 0, message: '', methods: new Set() })
  const { language } = currentSettings()
  const rows = [...found]
    .filter(([name]) => wanted === undefined || name === wanted)
    .sort(([, a], [, b]) => a.code - b.code)
    .map(([name, entry]) => [
      h('code', {}, name),
      entry.code === 0 ? '' : String(entry.code),
      prose(errorSentence(name, entry.message)),
      prose(adviceFor(name, language)),
      entry.methods.size === methods.length || entry.methods.size === 0
        ? t('anyMethod')
        : prose([...entry.methods].slice(0, MOST_METHODS).join(', ')),
    ])
  return table(t('helpTrouble'), [t('errorName'), t('code'), t('meaning'), t('whatToDo'), t('usedBy')], rows)
}
