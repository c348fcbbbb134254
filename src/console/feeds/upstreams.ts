import { h } from '../core/dom.js'
import { t } from '../core/i18n.js'
import { button, confirmed, field, select, statusLine, table } from '../core/parts.js'
import { call } from '../core/rpc.js'
import type { TableInfo } from '../core/tables.js'
import type { FeedUpstream } from './read.js'

/** Table of the upstreams that feeds go to. @param refresh reads and shows them again */
export function feedUpstreamTable(
  upstreams: readonly FeedUpstream[],
  status: ReturnType<typeof statusLine>,
  refresh: () => Promise<void>,
): HTMLElement {
  const remove = async (name: string) => {
    if (!(await confirmed(t('removeFeedUpstreamSure', { name }), t('remove')))) return
    try {
      await call('sync.delete_upstream', { name })
      await refresh()
    } catch (error) {
      status.bad(error)
    }
  }
  return table(
    t('feedUpstreams'),
    [t('alias'), t('endpoint'), t('upstreamKey'), t('actions')],
    upstreams.map(({ name, endpoint, apikey }) => [
      name,
      endpoint,
      h('span', { class: 'mono' }, apikey),
      button(t('remove'), () => void remove(name), 'small bad'),
    ]),
    t('feedUpstreamsNone'),
  )
}

/** Folded form that creates an upstream of feeds. @param done called when it is created */
export function newFeedUpstream(done: () => Promise<void>): HTMLElement {
  const name = h('input', { required: true })
  const endpoint = h('input', { required: true, placeholder: 'https://host' })
  const key = h('input', { required: true, autocomplete: 'off' })
  const secret = h('input', { required: true, type: 'password', autocomplete: 'off' })
  const fields = [
    field(t('alias'), name),
    field(t('endpoint'), endpoint),
    field(t('upstreamKey'), key, t('feedKeyHint')),
    field(t('upstreamSecret'), secret),
  ]
  const create = () =>
    call('sync.create_upstream', {
      ...{ name: name.value.trim(), endpoint: endpoint.value.trim() },
      ...{ apikey: key.value.trim(), secret: secret.value.trim() },
    })
  return foldedForm(t('newFeedUpstream'), fields, create, done)
}

/** Folded form that creates a feed. @param done called when it is created */
export function newFeed(
  tables: readonly TableInfo[],
  upstreams: readonly FeedUpstream[],
  done: () => Promise<void>,
): HTMLElement {
  const name = h('input', { required: true, list: 'feed-tables' })
  const direction = select([
    ['up', t('directionUp')],
    ['down', t('directionDown')],
  ])
  const upstream = select(upstreams.map((each) => [each.name, each.name] as const))
  const from = select([
    ['all', t('fromAll')],
    ['now', t('fromNow')],
  ])
  const priority = h('input', { type: 'number', min: 0, max: 9, value: 5, required: true })
  const names = h(
    'datalist',
    { id: 'feed-tables' },
    tables.map(({ data_name }) => h('option', { value: data_name })),
  )
  const fields = [
    field(t('tableWord'), name),
    field(t('direction'), direction),
    field(t('upstream'), upstream),
    field(t('feedFrom'), from),
    field(t('priority'), priority, t('priorityHint')),
    names,
  ]
  const create = () =>
    call('sync.create_feed', {
      ...{ table: name.value.trim(), direction: direction.value, upstream: upstream.value },
      ...{ from: from.value, priority: Number(priority.value) },
    })
  return foldedForm(t('newFeed'), fields, create, done)
}

function foldedForm(
  title: string,
  fields: HTMLElement[],
  create: () => Promise<unknown>,
  done: () => Promise<void>,
): HTMLElement {
  const status = statusLine()
  const onsubmit = async (event: Event) => {
    event.preventDefault()
    try {
      await create()
      await done()
    } catch (error) {
      status.bad(error)
    }
  }
  const submit = h('div', {}, h('button', { class: 'button main' }, t('create')))
  return h(
    'details',
    { class: 'card' },
    h('summary', {}, title),
    h('form', { class: 'stack', onsubmit }, h('div', { class: 'grid' }, fields), status.element, submit),
  )
}
