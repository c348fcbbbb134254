import { fill, h } from '../core/dom.js'
import { formatBytes, formatTime, t, type Word } from '../core/i18n.js'
import { type Page, repeat } from '../core/page.js'
import {
  badge,
  button,
  confirmed,
  faultNotice,
  field,
  prose,
  select,
  statusLine,
  table,
} from '../core/parts.js'
import { call } from '../core/rpc.js'
import {
  readStores,
  readTransfers,
  readUpstreams,
  type StoreInfo,
  type TransferInfo,
  type UpstreamInfo,
} from '../models/read.js'

const EVERY_MS = 2000

const STATES: Record<TransferInfo['state'], { word: Word; kind: string }> = {
  queued: { word: 'queued', kind: 'warn' },
  sending: { word: 'sending', kind: 'accent' },
  delivered: { word: 'delivered', kind: 'good' },
  failed: { word: 'failedState', kind: 'bad' },
}

/** Badge with the state of a transfer. */
export function transferBadge(state: TransferInfo['state']): HTMLElement {
  const { word, kind } = STATES[state]
  return badge(t(word), kind)
}

/** Page of upstreams and transfers; the transfers are refreshed every two seconds. */
export function outboxPage(): Page {
  const box = h('div', { class: 'stack' })
  const upstreamBox = h('div', { class: 'stack' })
  const status = statusLine()
  let upstreams: UpstreamInfo[] = []
  let shown = ''
  const showTransfers = async () => {
    try {
      const transfers = await readTransfers()
      const now = JSON.stringify(transfers)
      // an unchanged table is left alone, so that a screen reader keeps its position
      if (now !== shown) fill(box, summary(transfers), outboxTable(transfers, upstreams, act))
      shown = now
    } catch (error) {
      shown = ''
      fill(box, faultNotice(error))
    }
  }
  const act = async (method: string, id: number) => {
    try {
      await call(method, { id })
      status.say('')
    } catch (error) {
      status.bad(error)
    }
    await showTransfers()
  }
  const showUpstreams = async () => {
    try {
      const [found, stores] = await Promise.all([readUpstreams(), readStores()])
      upstreams = found
      fill(
        upstreamBox,
        upstreamTable(found, stores, status, showUpstreams),
        newUpstream(stores, showUpstreams),
      )
    } catch (error) {
      fill(upstreamBox, faultNotice(error, showUpstreams))
    }
  }
  void showUpstreams()
  const stop = repeat(EVERY_MS, showTransfers)
  const element = h(
    'div',
    { class: 'stack' },
    h('h1', {}, t('navOutbox')),
    h('p', { class: 'soft' }, t('outboxIntro')),
    h('h2', {}, t('outbox')),
    h('p', { class: 'soft small' }, t('liveEvery', { n: EVERY_MS / 1000 })),
    status.element,
    box,
    h('h2', {}, t('upstreams')),
    upstreamBox,
  )
  return { title: t('navOutbox'), element, close: stop }
}

function summary(transfers: readonly TransferInfo[]): HTMLElement {
  const count = (state: TransferInfo['state']) => transfers.filter((each) => each.state === state).length
  const counts = { waiting: count('queued'), running: count('sending'), failed: count('failed') }
  return h('p', { role: 'status' }, t('summaryOutbox', counts))
}

function outboxTable(
  transfers: readonly TransferInfo[],
  upstreams: readonly UpstreamInfo[],
  act: (method: string, id: number) => Promise<void>,
): HTMLElement {
  const aliasOf = (id: number) => upstreams.find((each) => each.id === id)?.alias ?? String(id)
  return table(
    t('outbox'),
    [
      'id',
      t('type'),
      t('models'),
      t('alias'),
      t('state'),
      t('progress'),
      t('attempts'),
      t('nextAttempt'),
      t('lastError'),
      t('actions'),
    ],
    transfers.map((each) => [
      String(each.id),
      t(each.kind === 'feedback' ? 'kindFeedback' : 'kindFetch'),
      h('span', { class: 'mono' }, each.model_id?.slice(0, 8) ?? ''),
      aliasOf(each.upstream_id),
      transferBadge(each.state),
      progressOf(each),
      String(each.attempts),
      formatTime(each.next_attempt_at),
      prose(each.last_error ?? ''),
      each.state === 'delivered'
        ? ''
        : h(
            'div',
            { class: 'row' },
            button(t('retry'), () => void act('fl.retry_transfer', each.id), 'small'),
            each.state !== 'failed' &&
              button(t('cancel'), () => void act('fl.cancel_transfer', each.id), 'small'),
          ),
    ]),
    t('outboxNone'),
  )
}

function progressOf({ bytes_sent, size, state }: TransferInfo): HTMLElement {
  const label = `${formatBytes(bytes_sent)} / ${formatBytes(size)}`
  return h(
    'div',
    {},
    state === 'sending' && size !== null
      ? h('progress', { max: Math.max(1, size), value: bytes_sent, 'aria-label': t('progress') })
      : false,
    h('span', { class: 'small' }, label),
  )
}

function upstreamTable(
  upstreams: readonly UpstreamInfo[],
  stores: readonly StoreInfo[],
  status: ReturnType<typeof statusLine>,
  refresh: () => Promise<void>,
): HTMLElement {
  const change = async (method: string, params: object) => {
    try {
      await call(method, params)
      await refresh()
    } catch (error) {
      status.bad(error)
    }
  }
  const remove = async ({ id, alias }: UpstreamInfo) => {
    if (await confirmed(t('removeUpstreamSure', { name: alias }), t('remove')))
      await change('fl.delete_upstream_info', { id })
  }
  return table(
    t('upstreams'),
    [t('alias'), t('store'), t('endpoint'), t('upstreamStore'), t('enabled'), t('actions')],
    upstreams.map((each) => [
      each.alias,
      stores.find(({ id }) => id === each.model_store_dataset_id)?.model_store_ddc ?? '',
      each.upstream_endpoint,
      each.upstream_model_store_ddc,
      each.enabled ? badge(t('yes'), 'good') : badge(t('no'), 'warn'),
      h(
        'div',
        { class: 'row' },
        button(
          each.enabled ? t('disable') : t('enable'),
          () => void change('fl.update_upstream_info', { id: each.id, enabled: !each.enabled }),
          'small',
        ),
        button(t('remove'), () => void remove(each), 'small bad'),
      ),
    ]),
    t('upstreamsNone'),
  )
}

function newUpstream(stores: readonly StoreInfo[], refresh: () => Promise<void>): HTMLElement {
  const store = select(stores.map(({ model_store_ddc }) => [model_store_ddc, model_store_ddc] as const))
  const endpoint = h('input', { required: true, placeholder: 'https://host/api/v2/fl/jsonrpc' })
  const key = h('input', { required: true, autocomplete: 'off' })
  const secret = h('input', { required: true, type: 'password', autocomplete: 'off' })
  const there = h('input', { required: true })
  const alias = h('input', { value: 'default', required: true })
  const status = statusLine()
  const onsubmit = async (event: Event) => {
    event.preventDefault()
    try {
      await call('fl.create_upstream_info', {
        model_store_ddc: store.value,
        upstream_endpoint: endpoint.value.trim(),
        upstream_apikey: key.value.trim(),
        upstream_secret: secret.value.trim(),
        upstream_model_store_ddc: there.value.trim(),
        alias: alias.value.trim(),
      })
      await refresh()
    } catch (error) {
      status.bad(error)
    }
  }
  return h(
    'details',
    { class: 'card' },
    h('summary', {}, t('newUpstream')),
    h(
      'form',
      { class: 'stack', onsubmit },
      h(
        'div',
        { class: 'grid' },
        field(t('store'), store),
        field(t('endpoint'), endpoint),
        field(t('upstreamKey'), key),
        field(t('upstreamSecret'), secret),
        field(t('upstreamStore'), there),
        field(t('alias'), alias),
      ),
      status.element,
      h('div', {}, h('button', { class: 'button main' }, t('create'))),
    ),
  )
}
