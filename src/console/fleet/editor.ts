import { fill, h } from '../core/dom.js'
import { t } from '../core/i18n.js'
import { button, empty, field, select, statusLine, table } from '../core/parts.js'
import { call, isFault } from '../core/rpc.js'
import { lineOf, stepsOf } from './json-lines.js'
import type { Change, Profile } from './read.js'
import { stagesForm } from './stages.js'

interface Checked {
  version: number
  profile: unknown
  changes: Change[]
}

interface Fault {
  /** such as `$.profile.up[0].table` */
  path: string
  message: string
}

/**
 * Editor of a profile as JSON: a check shows the faults at their lines or what would change, and only what was
 * checked is saved.
 *
 * @param profile newest version; undefined for a new one
 * @param done called when a version is saved
 */
export function profileEditor(
  name: string,
  profile: Profile | undefined,
  done: (saved: string) => void,
): HTMLElement {
  const value = profile === undefined ? { description: '', up: [], down: [] } : profile.profile
  const text = h('textarea', { rows: 20, spellcheck: 'false', value: JSON.stringify(value, null, 2) })
  const status = statusLine()
  const result = h('div', { class: 'stack' })
  let checked: Checked | undefined
  const save = h('button', {
    type: 'button',
    class: 'button main',
    hidden: true,
    onclick: () => void store(),
  })
  const reset = () => {
    checked = undefined
    save.hidden = true
    fill(result)
    status.say('')
    text.removeAttribute('aria-invalid')
  }
  text.addEventListener('input', reset)
  const check = async () => {
    reset()
    try {
      const params = { name, profile: readJson(text.value) }
      const found = await call<Checked>('fleet.check_profile', params)
      checked = found
      fill(result, changesOf(found))
      save.hidden = found.changes.length === 0 && found.version > 0
      save.textContent = t('saveVersion', { n: found.version + 1 })
    } catch (error) {
      showFault(error)
    }
  }
  const store = async () => {
    if (checked === undefined) return
    try {
      const params = { name, profile: checked.profile, base: checked.version }
      const { version } = await call<Profile>('fleet.set_profile', params)
      done(t('savedVersion', { n: version }))
    } catch (error) {
      showFault(error)
    }
  }
  const showFault = (error: unknown) => {
    const faults = faultsOf(error)
    if (faults === undefined)
      return status.bad(isFault(error) || !(error instanceof Error) ? error : error.message)
    text.setAttribute('aria-invalid', 'true')
    status.bad(t('faultsFound', { n: faults.length }))
    fill(result, faultList(faults, text))
  }
  return h(
    'div',
    { class: 'stack' },
    stagesForm(text, reset),
    field(t('profileJson'), text, t('profileJsonHint')),
    h(
      'div',
      { class: 'row' },
      button(t('check'), () => void check()),
      save,
    ),
    status.element,
    result,
  )
}

/** @throws Error with the place at which the text is no JSON */
function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new Error(t('badJson', { reason: cause instanceof Error ? cause.message : String(cause) }))
  }
}

/** Faults of a profile from the error of a call; undefined for another error. */
function faultsOf(error: unknown): Fault[] | undefined {
  if (!isFault(error) || error.faultName !== 'INVALID_PARAMS' || !Array.isArray(error.data.faults))
    return undefined
  return error.data.faults as Fault[] // the gateway's form of the error
}

/** Faults with their lines; a press on one shows its line in the text. */
function faultList(faults: readonly Fault[], text: HTMLTextAreaElement): HTMLElement {
  const show = (line: number) => {
    const lines = text.value.split('\n')
    const start = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0)
    text.focus()
    text.setSelectionRange(start, start + (lines[line - 1]?.length ?? 0))
    text.scrollTop = (text.scrollHeight / lines.length) * Math.max(0, line - 5)
  }
  return h(
    'ul',
    {},
    faults.map(({ path, message }) => {
      const n = lineOf(text.value, stepsOf(path).slice(1))
      const label = t('faultAtLine', { n, path: path.replace(/^\$\.profile\.?/, ''), reason: message })
      return h(
        'li',
        {},
        button(label, () => show(n), 'plain small'),
      )
    }),
  )
}

function changesOf({ version, changes }: Checked): HTMLElement {
  if (changes.length === 0) return empty(t('noChanges'))
  return changeTable(t('changesTitle', { n: version }), changes)
}

/** Differences of two versions, item by item. */
export function changeTable(caption: string, changes: readonly Change[]): HTMLElement {
  const shown = (value: unknown) =>
    value === undefined ? '–' : h('span', { class: 'prose mono' }, JSON.stringify(value))
  return h(
    'div',
    { class: 'stack tight' },
    h('h3', {}, caption),
    table(
      caption,
      [t('item'), t('before'), t('after')],
      changes.map(({ item, before, after }) => [item, shown(before), shown(after)]),
      t('noChanges'),
    ),
  )
}

/** Versions of a profile: what each changed. @param newest its number */
export function versionsView(name: string, newest: number): HTMLElement {
  const box = h('div', { class: 'stack' })
  const numbers = Array.from({ length: Math.min(newest, 200) }, (_, at) => String(newest - at))
  const choice = select(numbers.map((n) => [n, n] as const))
  const status = statusLine()
  const show = async () => {
    try {
      const params = { name, to: Number(choice.value) }
      const [{ from, changes }, { profile }] = await Promise.all([
        call<{ from: number; changes: Change[] }>('fleet.diff_profile', params),
        call<Profile>('fleet.get_profile', { name, version: params.to }),
      ])
      status.say('')
      const body = h('pre', { tabindex: 0, 'aria-label': t('profileJson') }, JSON.stringify(profile, null, 2))
      fill(box, changeTable(t('changesTitle', { n: from }), changes), body)
    } catch (error) {
      status.bad(error)
    }
  }
  choice.addEventListener('change', () => void show())
  void show()
  return h('div', { class: 'stack' }, field(t('olderVersion'), choice), status.element, box)
}
