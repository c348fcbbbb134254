import { h } from '../core/dom.js'
import { t } from '../core/i18n.js'
import { badge, button, confirmed, field, select, statusLine, table } from '../core/parts.js'
import { call } from '../core/rpc.js'
import type { StoreInfo, UpstreamInfo } from './read.js'

/** Table of the upstreams with the buttons that change them. @param refresh reads and shows them again */
export function upstreamTable(
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
  const toggle = ({ id, enabled }: UpstreamInfo) =>
    button(
      enabled ? t('disable') : t('enable'),
      () => void change('fl.update_upstream_info', { id, enabled: !enabled }),
      'small',
    )
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
        toggle(each),
        button(t('remove'), () => void remove(each), 'small bad'),
      ),
    ]),
    t('upstreamsNone'),
  )
}

/** Folded form that creates an upstream. @param refresh called when it is created */
export function newUpstream(stores: readonly StoreInfo[], refresh: () => Promise<void>): HTMLElement {
  const { fields, params } = upstreamInputs(stores)
  const status = statusLine()
  const onsubmit = async (event: Event) => {
    event.preventDefault()
    try {
      await call('fl.create_upstream_info', params())
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
      h('div', { class: 'grid' }, fields),
      status.element,
      h('div', {}, h('button', { class: 'button main' }, t('create'))),
    ),
  )
}

/** Inputs of a new upstream, and the params that they give. */
function upstreamInputs(stores: readonly StoreInfo[]) {
  const store = select(stores.map(({ model_store_ddc }) => [model_store_ddc, model_store_ddc] as const))
  const endpoint = h('input', { required: true, placeholder: 'https://host/api/v2/fl/jsonrpc' })
  const key = h('input', { required: true, autocomplete: 'off' })
  const secret = h('input', { required: true, type: 'password', autocomplete: 'off' })
  const there = h('input', { required: true })
  const alias = h('input', { value: 'default', required: true })
  return {
    fields: [
      field(t('store'), store),
      field(t('endpoint'), endpoint),
      field(t('upstreamKey'), key),
      field(t('upstreamSecret'), secret),
      field(t('upstreamStore'), there),
      field(t('alias'), alias),
    ],
    params: () => ({
      model_store_ddc: store.value,
      upstream_endpoint: endpoint.value.trim(),
      upstream_apikey: key.value.trim(),
      upstream_secret: secret.value.trim(),
      upstream_model_store_ddc: there.value.trim(),
      alias: alias.value.trim(),
    }),
  }
}
