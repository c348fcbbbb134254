import { fill, h } from '../core/dom.js'
import { formatBytes, formatTime, t } from '../core/i18n.js'
import type { Page } from '../core/page.js'
import { badge, button, field, loaded, statusLine, table } from '../core/parts.js'
import { call } from '../core/rpc.js'
import { downloadModel, fileNameOf, modelAddress, removeModel } from '../models/actions.js'
import { lineage, modelStateText } from '../models/lineage.js'
import { modelPage } from '../models/one-model.js'
import { type ModelInfo, readModels, readStores, readTransfers, type TransferInfo } from '../models/read.js'
import { uploadForm } from '../models/upload.js'

/** Model stores, or the store or the model that the address names. */
export function modelsPage([store, modelId]: readonly string[]): Page {
  if (store !== undefined && modelId !== undefined) return modelPage(store, modelId)
  if (store !== undefined) return storePage(store)
  const element = h(
    'div',
    { class: 'stack' },
    h('h1', {}, t('navModels')),
    h('p', { class: 'soft' }, t('modelsIntro')),
    loaded(async () =>
      table(
        t('navModels'),
        [t('store'), t('created'), t('longForm')],
        (await readStores()).map(({ model_store_ddc, created_at, long_form }) => [
          h('a', { href: `#/models/${encodeURIComponent(model_store_ddc)}` }, model_store_ddc),
          formatTime(created_at),
          long_form,
        ]),
        t('storesNone'),
      ),
    ),
    h('details', { class: 'card' }, h('summary', {}, t('newStore')), newStoreForm()),
  )
  return { title: t('navModels'), element }
}

function newStoreForm(): HTMLElement {
  const name = h('input', { required: true })
  const status = statusLine()
  const onsubmit = async (event: Event) => {
    event.preventDefault()
    try {
      await call('model_store.create', { model_store_ddc: name.value.trim() })
      location.hash = `#/models/${encodeURIComponent(name.value.trim())}`
    } catch (error) {
      status.bad(error)
    }
  }
  return h(
    'form',
    { class: 'stack tight', onsubmit },
    h(
      'div',
      { class: 'row end' },
      field(t('name'), name),
      h('button', { class: 'button main' }, t('create')),
    ),
    status.element,
  )
}

function storePage(store: string): Page {
  const box = h('div', { class: 'stack' })
  const status = statusLine()
  const show = () =>
    fill(
      box,
      loaded(async () => {
        const [models, transfers] = await Promise.all([readModels(store), readTransfers().catch(() => [])])
        return [
          h('h2', {}, t('lineage')),
          lineage(store, models, transfers),
          h('h2', {}, t('models')),
          modelTable(store, models, transfers, {
            refresh: show,
            status,
            send: (model) => send(store, model),
          }),
        ]
      }),
    )
  const send = async (model_store_ddc: string, { model_id }: ModelInfo) => {
    status.say(t('modelSending'))
    try {
      await call('fl.feedback', { model_store_ddc, model_id })
      status.good(t('modelSent'))
    } catch (error) {
      status.bad(error)
    }
    show()
  }
  const fetchAggregated = async () => {
    status.say(t('loading'))
    try {
      const { model_id } = await call<ModelInfo>('fl.request_transfer', { model_store_ddc: store })
      status.good(t('fetched', { id: model_id }))
      show()
    } catch (error) {
      status.bad(error)
    }
  }
  show()
  const element = h(
    'div',
    { class: 'stack' },
    h('p', {}, h('a', { href: '#/models' }, `← ${t('navModels')}`)),
    h('h1', {}, store),
    h('details', { class: 'card', open: true }, h('summary', {}, t('upload')), uploadForm(store, show)),
    h('div', { class: 'row' }, button(t('fetchNow'), fetchAggregated), button(t('refresh'), show)),
    status.element,
    box,
  )
  return { title: store, element }
}

interface ModelActions {
  readonly status: ReturnType<typeof statusLine>
  refresh(): void
  /** sends a model to the upstreams of its store */
  send(model: ModelInfo): Promise<void>
}

function modelTable(
  store: string,
  models: readonly ModelInfo[],
  transfers: readonly TransferInfo[],
  { refresh, status, send }: ModelActions,
): HTMLElement {
  // one that failed for good, such as with a removed upstream, can be sent once more
  const onTheWay = transfers.filter(({ kind, state }) => kind === 'feedback' && state !== 'failed')
  const sent = new Set(onTheWay.map(({ model_id }) => model_id))
  return table(
    t('models'),
    [t('model'), t('file'), t('kind'), t('description'), t('state'), t('size'), t('created'), t('actions')],
    models.map((model) => [
      h('a', { class: 'mono', href: modelAddress(store, model.model_id) }, model.model_id.slice(0, 8)),
      fileNameOf(model) ?? '',
      model.model_kind,
      model.model_description,
      badge(modelStateText(model.model_state), 'accent'),
      formatBytes(model.model_size),
      formatTime(model.end_datetime),
      h(
        'div',
        { class: 'row' },
        button(t('download'), () => void downloadModel(model).catch(status.bad), 'small'),
        !sent.has(model.model_id) && button(t('modelSend'), () => void send(model), 'small'),
        button(t('remove'), () => void removeModel(model, refresh, status), 'small bad'),
      ),
    ]),
    t('modelsNone'),
  )
}
