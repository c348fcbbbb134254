import { fill, h } from '../core/dom.js'
import { formatBytes, formatTime, t, type Word } from '../core/i18n.js'
import { type Page, repeat } from '../core/page.js'
import {
  badge,
  button,
  faultNotice,
  reasonNote,
  showFault,
  statusLine,
  table,
  waitingBox,
} from '../core/parts.js'
import { call } from '../core/rpc.js'
import { feedSection } from '../feeds/section.js'
import { modelAddress } from '../models/actions.js'
import {
  readStores,
  readTransfers,
  readUpstreams,
  type StoreInfo,
  type TransferInfo,
  type UpstreamInfo,
} from '../models/read.js'
import { newUpstream, upstreamTable } from '../models/upstreams.js'

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

/** Where transfers go, and the stores that their models are in. */
type Ends = readonly [upstreams: readonly UpstreamInfo[], stores: readonly StoreInfo[]]

/** Page of what goes to other gateways: models and tables. What moves is refreshed every two seconds. */
export function outboxPage(): Page {
  const upstreamBox = waitingBox()
  const status = statusLine()
  let ends: Ends = [[], []]
  const transfers = transferList(status, () => ends)
  const showUpstreams = async () => {
    try {
      ends = await Promise.all([readUpstreams(), readStores()])
      const [found, stores] = ends
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
  const feeds = feedSection()
  const element = h(
    'div',
    { class: 'stack' },
    h('h1', {}, t('navOutbox')),
    h('p', { class: 'soft' }, t('outboxIntro')),
    h('p', { class: 'soft small' }, t('liveEvery', { n: EVERY_MS / 1000 })),
    h('h2', {}, t('outbox')),
    status.element,
    transfers.element,
    h('h2', {}, t('upstreams')),
    upstreamBox,
    feeds.element,
  )
  const refresh = async () => {
    await Promise.all([transfers.refresh(), feeds.refresh()])
  }
  return { title: t('navOutbox'), element, close: repeat(EVERY_MS, refresh) }
}

/** Transfers with the buttons that retry and cancel them. An action that fails says so in the status line. */
function transferList(status: ReturnType<typeof statusLine>, ends: () => Ends) {
  const element = waitingBox()
  let shown = ''
  const refresh = async () => {
    try {
      const transfers = troubleFirst(await readTransfers())
      const now = JSON.stringify([transfers, ends()])
      // an unchanged table is left alone, so that a screen reader keeps its position
      if (now !== shown) fill(element, summary(transfers), outboxTable(transfers, ends(), act))
      shown = now
    } catch (error) {
      shown = showFault(element, error, shown, refresh)
    }
  }
  const act = async (method: string, id: number) => {
    try {
      await call(method, { id })
      status.say('')
    } catch (error) {
      status.bad(error)
    }
    await refresh()
  }
  return { element, refresh }
}

/** Sorts transfers: failed ones, those that were tried in vain, then by their age. */
function troubleFirst(transfers: TransferInfo[]): TransferInfo[] {
  const rank = ({ state, last_error }: TransferInfo) =>
    state === 'failed' ? 0 : state !== 'delivered' && last_error !== null ? 1 : 2
  return transfers.sort((a, b) => rank(a) - rank(b) || b.id - a.id)
}

function summary(transfers: readonly TransferInfo[]): HTMLElement {
  const count = (state: TransferInfo['state']) => transfers.filter((each) => each.state === state).length
  const counts = { waiting: count('queued'), running: count('sending'), failed: count('failed') }
  return h('p', { role: 'status' }, t('summaryOutbox', counts))
}

function outboxTable(
  transfers: readonly TransferInfo[],
  [upstreams, stores]: Ends,
  act: (method: string, id: number) => Promise<void>,
): HTMLElement {
  const modelOf = (id: string | null, upstream: UpstreamInfo | undefined) => {
    const store = stores.find((each) => each.id === upstream?.model_store_dataset_id)?.model_store_ddc
    const href = id !== null && store !== undefined && modelAddress(store, id)
    return h(href ? 'a' : 'span', { class: 'mono', href }, id?.slice(0, 8))
  }
  return table(
    t('outbox'),
    [
      t('transfer'),
      t('model'),
      t('upstream'),
      t('state'),
      t('progress'),
      t('times'),
      t('attempts'),
      t('lastError'),
      t('actions'),
    ],
    transfers.map((each) => {
      const upstream = upstreams.find(({ id }) => id === each.upstream_id)
      return [
        `${each.id} · ${t(each.kind === 'feedback' ? 'kindFeedback' : 'kindFetch')}`,
        modelOf(each.model_id, upstream),
        upstream?.alias ?? String(each.upstream_id),
        transferBadge(each.state),
        progressOf(each),
        timesOf(each),
        String(each.attempts),
        reasonNote(each.last_error),
        actionsOf(each, act),
      ]
    }),
    t('outboxNone'),
  )
}

/** Times of a transfer: its start, its end, and its next attempt where there is one. */
function timesOf({ created_at, finished_at, next_attempt_at }: TransferInfo): HTMLElement {
  const times = [
    [t('created'), created_at],
    [t('finished'), finished_at],
    [t('nextAttempt'), next_attempt_at],
  ] as const
  return h(
    'div',
    {},
    times.map(([label, time]) => time !== null && h('div', {}, `${label}: ${formatTime(time)}`)),
  )
}

/** Buttons of a transfer; none for one that is delivered. */
function actionsOf(
  { id, state }: TransferInfo,
  act: (method: string, id: number) => Promise<void>,
): HTMLElement | string {
  if (state === 'delivered') return ''
  const retry = button(t('retry'), () => void act('fl.retry_transfer', id), 'small')
  const cancel = button(t('cancel'), () => void act('fl.cancel_transfer', id), 'small')
  return h('div', { class: 'row' }, retry, state !== 'failed' && cancel)
}

/** Bytes of each transfer at the last look. */
const seen = new Map<number, { bytes: number; atMs: number }>()

/** Bytes per second since the last look at a transfer that is sending. */
function rateOf(id: number, bytes: number, state: TransferInfo['state']): number | undefined {
  const before = seen.get(id)
  const atMs = performance.now()
  if (state !== 'sending') {
    seen.delete(id)
    return undefined
  }
  seen.set(id, { bytes, atMs })
  return before === undefined || atMs <= before.atMs
    ? undefined
    : Math.max(0, (bytes - before.bytes) / ((atMs - before.atMs) / 1000))
}

function progressOf({ id, bytes_sent, size: whole, delta, state }: TransferInfo): HTMLElement {
  const size = delta?.size ?? whole // what is carried
  const rate = rateOf(id, bytes_sent, state)
  const label = `${formatBytes(bytes_sent)} / ${formatBytes(size)}${rate === undefined ? '' : ` · ${formatBytes(rate)}/s`}`
  return h(
    'div',
    {},
    state === 'sending' && size !== null
      ? h('progress', { max: Math.max(1, size), value: bytes_sent, 'aria-label': t('progress') })
      : false,
    h('span', { class: 'small' }, label),
  )
}
