import { h } from '../core/dom.js'
import { formatBytes, formatTime, t } from '../core/i18n.js'
import type { Page } from '../core/page.js'
import { button, facts, loaded, notFound, reasonNote, statusLine, table } from '../core/parts.js'
import { transferBadge } from '../pages/outbox.js'
import { downloadModel, fileNameOf, modelAddress, removeModel } from './actions.js'
import { modelStateText } from './lineage.js'
import {
  type ModelInfo,
  readModels,
  readTransfers,
  readUpstreams,
  type TransferInfo,
  type UpstreamInfo,
} from './read.js'

/** Page of one model: its facts, models with the same content, and its transfers with their upstreams. */
export function modelPage(store: string, modelId: string): Page {
  const back = `#/models/${encodeURIComponent(store)}`
  const element = h(
    'div',
    { class: 'stack' },
    h('p', {}, h('a', { href: back }, `← ${store}`)),
    h('h1', {}, t('modelTitle', { id: modelId.slice(0, 8) })),
    loaded(async () => {
      const [models, transfers, upstreams] = await Promise.all([
        readModels(store),
        readTransfers().catch((): TransferInfo[] => []),
        readUpstreams().catch((): UpstreamInfo[] => []),
      ])
      const model = models.find(({ model_id }) => model_id === modelId)
      if (model === undefined) return notFound(t('notFoundModel'), back, store)
      return [
        factsOf(store, model, models),
        actionsOf(model, back),
        h('h2', {}, t('transfers')),
        transferTable(
          transfers.filter(({ model_id }) => model_id === modelId),
          upstreams,
        ),
      ]
    }),
  )
  return { title: t('modelTitle', { id: modelId.slice(0, 8) }), element }
}

function factsOf(store: string, model: ModelInfo, models: readonly ModelInfo[]): HTMLElement {
  const twins = models.filter((other) => other !== model && other.model_sha256 === model.model_sha256)
  const links = twins.map((twin) =>
    h(
      'span',
      {},
      h('a', { href: modelAddress(store, twin.model_id) }, fileNameOf(twin) ?? twin.model_id.slice(0, 8)),
      ' ',
    ),
  )
  return h(
    'div',
    { class: 'card' },
    facts([
      ['ID', h('span', { class: 'mono' }, model.model_id)],
      [t('file'), fileNameOf(model) ?? '–'],
      [t('kind'), model.model_kind],
      [t('description'), model.model_description],
      [t('state'), modelStateText(model.model_state)],
      [t('size'), formatBytes(model.model_size)],
      [t('created'), formatTime(model.end_datetime)],
      [t('lineage'), `${t('round', { n: model.round })} · ${t('hops', { n: model.hop_count })}`],
      ['SHA-256', h('span', { class: 'mono' }, model.model_sha256)],
      [t('metadata'), h('code', {}, JSON.stringify(model.model_meta))],
      ...(links.length === 0 ? [] : [[t('sameBytes', { n: links.length }), h('span', {}, links)] as const]),
    ]),
  )
}

function actionsOf(model: ModelInfo, back: string): HTMLElement {
  const status = statusLine()
  const removed = () => {
    location.hash = back
  }
  return h(
    'div',
    { class: 'stack' },
    h(
      'div',
      { class: 'row' },
      button(t('download'), () => void downloadModel(model).catch(status.bad), 'main'),
      button(t('remove'), () => void removeModel(model, removed, status), 'bad'),
    ),
    status.element,
  )
}

function transferTable(transfers: readonly TransferInfo[], upstreams: readonly UpstreamInfo[]): HTMLElement {
  const nameOf = (id: number) => {
    const found = upstreams.find((each) => each.id === id)
    return found === undefined ? String(id) : `${found.alias} · ${found.upstream_endpoint}`
  }
  return table(
    t('transfers'),
    [t('transfer'), t('upstream'), t('state'), t('finished'), t('lastError')],
    transfers.map(({ id, kind, upstream_id, state, finished_at, last_error }) => [
      `${id} · ${t(kind === 'feedback' ? 'kindFeedback' : 'kindFetch')}`,
      h('a', { href: '#/outbox' }, nameOf(upstream_id)),
      transferBadge(state),
      formatTime(finished_at),
      reasonNote(last_error),
    ]),
    t('modelNotSent'),
  )
}
