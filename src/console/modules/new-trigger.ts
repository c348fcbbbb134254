import { h } from '../core/dom.js'
import { t } from '../core/i18n.js'
import { field, select, statusLine } from '../core/parts.js'
import { call } from '../core/rpc.js'
import type { ModuleInfo } from './read.js'

const EMPTY_CALL = '{\n  "input": {},\n  "output": {},\n  "params": {}\n}'

/** Form that makes a trigger. @param changed called when one was made */
export function newTrigger(modules: readonly ModuleInfo[], changed: () => Promise<void>): HTMLElement {
  const status = statusLine()
  const name = h('input', { required: true, maxlength: 63, autocomplete: 'off' })
  const methods = modules.flatMap(({ name: module, scripts = {} }) =>
    Object.keys(scripts).map((method) => ({ module, method })),
  )
  const program = select(methods.map(({ module, method }, at) => [String(at), `${module}.${method}`]))
  const start = startFields()
  const overlap = select([
    ['queue', t('overlapQueue')],
    ['skip', t('overlapSkip')],
    ['cancel', t('overlapCancel')],
  ])
  const json = h('textarea', { rows: 6, class: 'mono', spellcheck: false })
  json.value = EMPTY_CALL
  const onsubmit = async (event: Event) => {
    event.preventDefault()
    const given = readJson(json.value)
    if (typeof given === 'string') return status.bad(new Error(t('notJson', { reason: given })))
    try {
      const of = methods[Number(program.value)]
      await call('dataproc.create_trigger', {
        ...given,
        ...of,
        name: name.value,
        on: start.on(),
        overlap: overlap.value,
      })
      status.good(name.value)
      name.value = ''
      await changed()
    } catch (error) {
      status.bad(error)
    }
  }
  return h(
    'form',
    { class: 'card stack', onsubmit },
    h('h2', {}, t('newTrigger')),
    h('div', { class: 'grid' }, field(t('trigger'), name), field(t('methodWord'), program), start.kind),
    h('div', { class: 'grid' }, start.parts, field(t('overlapField'), overlap)),
    field(t('callJson'), json, t('callJsonHint')),
    h('div', { class: 'row' }, h('button', { class: 'button main' }, t('create')), status.element),
  )
}

/** Fields of what starts a trigger; those of other kinds are hidden. */
function startFields() {
  const kind = select([
    ['schedule', t('kindSchedule')],
    ['table', t('kindTable')],
    ['model_store_ddc', t('kindModel')],
    ['startup', t('kindStartup')],
  ])
  const schedule = h('input', { value: '*/10 * * * *', class: 'mono' })
  const zone = h('input', { value: Intl.DateTimeFormat().resolvedOptions().timeZone })
  const source = h('input', { maxlength: 200 })
  const parts = {
    schedule: field(t('scheduleField'), schedule, t('scheduleHint')),
    zone: field(t('timeZone'), zone),
  }
  const sourceField = field(t('sourceName'), source)
  const showParts = () => {
    parts.schedule.hidden = parts.zone.hidden = kind.value !== 'schedule'
    sourceField.hidden = kind.value === 'schedule' || kind.value === 'startup'
  }
  kind.addEventListener('change', showParts)
  showParts()
  const on = () => {
    if (kind.value === 'schedule') return { schedule: schedule.value, time_zone: zone.value }
    return kind.value === 'startup' ? { startup: true } : { [kind.value]: source.value }
  }
  return { kind: field(t('startsWith'), kind), parts: [parts.schedule, parts.zone, sourceField], on }
}

/** Returns an object; a text says why there is none. */
function readJson(text: string): object | string {
  try {
    const read: unknown = JSON.parse(text)
    return typeof read === 'object' && read !== null && !Array.isArray(read) ? read : '{ }'
  } catch (error) {
    return String(error)
  }
}
