import { h } from '../core/dom.js'
import { formatBytes, formatTime, t, type Word } from '../core/i18n.js'
import { badge } from '../core/parts.js'
import { transferBadge } from '../pages/outbox.js'
import { fileNameOf, modelAddress } from './actions.js'
import type { ModelInfo, TransferInfo } from './read.js'

/** `model_state` of the wire, in the order of a model's life. */
const LANES: readonly (readonly [state: number, word: Word])[] = [
  [10, 'state10'],
  [20, 'state20'],
  [30, 'state30'],
  [40, 'state40'],
]

/** Name of a `model_state`; the number itself when it has none. */
export function modelStateText(state: number): string {
  const word = LANES.find(([known]) => known === state)?.[1]
  return word === undefined ? String(state) : t(word)
}

/**
 * Models of a store by state, one lane each, newest round first: from registration to the aggregated model
 * that comes back.
 */
export function lineage(
  store: string,
  models: readonly ModelInfo[],
  transfers: readonly TransferInfo[],
): HTMLElement {
  const lanes = LANES.map(([state, word]) => {
    const own = models.filter(({ model_state }) => model_state === state).sort((a, b) => b.round - a.round)
    return h(
      'section',
      { class: 'lane', 'aria-label': t(word) },
      h('h3', {}, t(word)),
      own.length === 0 && h('p', { class: 'soft small' }, t('lineageNone')),
      own.map((model) => card(store, model, models, transfers)),
    )
  })
  return h('div', { class: 'lanes', tabindex: 0, role: 'region', 'aria-label': t('lineage') }, lanes)
}

function card(
  store: string,
  model: ModelInfo,
  models: readonly ModelInfo[],
  transfers: readonly TransferInfo[],
): HTMLElement {
  const twins = models.filter((other) => other !== model && other.model_sha256 === model.model_sha256)
  const sent = transfers.filter(({ model_id, kind }) => model_id === model.model_id && kind === 'feedback')
  const element = h(
    'article',
    { class: `card${twins.length > 0 ? ' linked' : ''}` },
    h(
      'a',
      { href: modelAddress(store, model.model_id) },
      h('b', {}, fileNameOf(model) ?? model.model_id.slice(0, 8)),
    ),
    h(
      'span',
      { class: 'soft small' },
      `${model.model_kind} · ${formatBytes(model.model_size)} · ${t('round', { n: model.round })} · ${t('hops', { n: model.hop_count })}`,
    ),
    h('span', { class: 'soft small' }, formatTime(model.end_datetime)),
    twins.length > 0 && h('span', { class: 'small' }, t('sameBytes', { n: twins.length })),
    sent.map(({ state }) => h('a', { href: '#/outbox' }, transferBadge(state))),
    sent.length === 0 && model.model_state === 20 ? badge(model.tenant_id) : false,
  )
  return element
}
