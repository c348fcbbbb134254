import type { BadCalls, Standing } from './types.js'

const NOBODY = '00000000-0000-4000-8000-000000000000'
const upstream = (more: object) => ({
  model_store_ddc: 'new',
  upstream_endpoint: 'https://up.example/api/v2/fl/jsonrpc',
  upstream_apikey: 'k',
  upstream_secret: 's',
  upstream_model_store_ddc: 'there',
  ...more,
})
const ENDPOINTS = [
  'nonsense',
  'ftp://up.example',
  'http://up.example',
  'https://a:b@up.example',
  'https://up.example/?x=1',
]

/**
 * The store `rain` has a model and an upstream that is switched off, of id 1; `alone` has none; of `stuck`
 * one transfer waits.
 */
export function modelBadCalls({ nodeId, modelId, sha256 }: Standing): BadCalls {
  const announce = (data: object, more: object = {}) => ({
    sha256,
    size: 3,
    data: {
      model_store_ddc: 'rain',
      model_kind: 'k',
      model_description: '',
      model_meta: {},
      origin: { node: 'elsewhere', model_id: 'm' },
      ...data,
    },
    ...more,
  })
  const ofTransfer = [
    [{ id: 0 }, 'INVALID_PARAMS', /\$\.id/],
    [{ id: '1' }, 'INVALID_PARAMS', /\$\.id/],
    [{ id: 99 }, 'UNKNOWN_TRANSFER', /99/],
  ] as const
  const ofUpstream = [
    [{ id: 0 }, 'INVALID_PARAMS', /\$\.id/],
    [{ id: '1' }, 'INVALID_PARAMS', /\$\.id/],
    [{ id: 99 }, 'UNKNOWN_UPSTREAM', /99/],
  ] as const
  const ofList = [
    [{ limit: -1 }, 'INVALID_PARAMS', /limit/],
    [{ conds: { '=': ['nobody', 1] } }, 'BAD_CONDITION', /nobody/],
    [{ conds: { nope: [] } }, 'BAD_CONDITION', /nope/],
    [{ order: 'nobody' }, 'BAD_CONDITION', /nobody/],
  ] as const
  return {
    'model_store.create': [
      [{ model_store_ddc: '' }, 'INVALID_PARAMS', /model_store_ddc/],
      [{ model_store_ddc: 'a\u0007' }, 'INVALID_PARAMS', /model_store_ddc/],
      [{ model_store_ddc: 'x'.repeat(201) }, 'INVALID_PARAMS', /model_store_ddc/],
      [{ model_store_ddc: 'ddc:rain' }, 'STORE_EXISTS', /rain/],
    ],
    'model_store.delete': [
      [{ model_store_ddc: 7 }, 'INVALID_PARAMS', /model_store_ddc/],
      [{ model_store_ddc: 'nobody' }, 'UNKNOWN_STORE', /nobody/],
      [{ model_store_ddc: 'stuck' }, 'STORE_IN_USE', /Found 1 waiting transfer of the store, expected none/],
    ],
    'model_store.list': ofList,
    'model_store.model.get_info': [
      [{}, 'INVALID_PARAMS', /model_store_ddc/],
      [{ model_store_ddc: 'nobody' }, 'UNKNOWN_STORE', /nobody/],
      [{ model_store_ddc: 'rain', conds: { '=': ['nobody', 1] } }, 'BAD_CONDITION', /nobody/],
      [{ model_store_ddc: 'rain', order: ['nobody'] }, 'BAD_CONDITION', /nobody/],
    ],
    'model_store.model.delete': [
      [{ model_id: 'm' }, 'INVALID_PARAMS', /model_id/],
      [{ model_id: NOBODY }, 'UNKNOWN_MODEL', /00000000/],
    ],
    'fl.create_upstream_info': [
      [upstream({ upstream_secret: '' }), 'INVALID_PARAMS', /upstream_secret/],
      [upstream({ upstream_apikey: 'a\nb' }), 'INVALID_PARAMS', /upstream_apikey/],
      [upstream({ enabled: 'yes' }), 'INVALID_PARAMS', /enabled/],
      [upstream({}), 'UNKNOWN_STORE', /new/],
      ...ENDPOINTS.map(
        (upstream_endpoint) => [upstream({ upstream_endpoint }), 'BAD_ENDPOINT', /found/] as const,
      ),
    ],
    'fl.get_upstream_info': ofUpstream,
    'fl.delete_upstream_info': ofUpstream,
    'fl.update_upstream_info': [
      ...ofUpstream,
      [{ id: 99, model_store_ddc: 'new' }, 'UNKNOWN_UPSTREAM', /99/],
      [{ id: 1, model_store_ddc: 'new', alias: 'b' }, 'UNKNOWN_STORE', /new/],
      [{ id: 1, alias: 7 }, 'INVALID_PARAMS', /alias/],
      [{ id: 1, model_store_ddc: 'new', upstream_endpoint: 'nonsense' }, 'BAD_ENDPOINT', /nonsense/],
    ],
    'fl.list_upstream_info': [
      ...ofList,
      [{ conds: { '=': ['upstream_secret', 's'] } }, 'BAD_CONDITION', /upstream_secret/],
    ],
    'fl.feedback': [
      [{ model_store_ddc: 'rain', model_id: 'm' }, 'INVALID_PARAMS', /model_id/],
      [{ model_store_ddc: 'nobody', model_id: modelId }, 'UNKNOWN_STORE', /nobody/],
      [{ model_store_ddc: 'alone', model_id: modelId }, 'NO_UPSTREAM', /./],
      [{ model_store_ddc: 'rain', model_id: modelId }, 'UPSTREAM_DISABLED', /./],
      [{ model_store_ddc: 'stuck', model_id: modelId }, 'UNKNOWN_MODEL', /has no model/],
    ],
    'fl.request_transfer': [
      [{}, 'INVALID_PARAMS', /model_store_ddc/],
      [{ model_store_ddc: 'nobody' }, 'UNKNOWN_STORE', /nobody/],
      [{ model_store_ddc: 'alone' }, 'NO_UPSTREAM', /./],
      [{ model_store_ddc: 'rain' }, 'UPSTREAM_DISABLED', /./],
    ],
    'fl.list_transfers': ofList,
    'fl.get_transfer': ofTransfer,
    'fl.retry_transfer': ofTransfer,
    'fl.cancel_transfer': ofTransfer,
    'fl.announce': [
      [announce({}, { sha256: 'x' }), 'INVALID_PARAMS', /sha256/],
      [announce({}, { size: -1 }), 'INVALID_PARAMS', /size/],
      [announce({ origin: undefined }), 'INVALID_PARAMS', /origin/],
      [announce({ model_store_ddc: 'nobody' }, { sha256: '0'.repeat(64) }), 'UNKNOWN_STORE', /nobody/],
      [announce({ origin: { node: nodeId, model_id: 'm' } }), 'LOOP', /./],
      [announce({ origin: { node: 'a', model_id: 'm', chain: ['a', nodeId] } }), 'LOOP', /./],
      [announce({}, { sha256: '0'.repeat(64), size: 2 ** 50 }), 'BODY_TOO_LARGE', /./],
      [announce({ model_kind: 'signed' }), 'SIGNATURE_REFUSED', /found no signature/],
      [announce({ model_signature: 1 }), 'INVALID_PARAMS', /model_signature/],
    ],
  }
}
