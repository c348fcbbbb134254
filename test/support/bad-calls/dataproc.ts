import type { BadCall, BadCalls } from './types.js'

const run = (more: object = {}) => ({ module: 'm', method: 'run', ...more })
const input = (value: unknown) => run({ input: { a: value } })
const output = (value: unknown) => run({ output: { a: value } })

const trigger = (more: object) => ({ name: 't', on: { startup: true }, module: 'm', method: 'run', ...more })

const NO_PARAMS: readonly BadCall[] = [[{ x: 1 }, 'INVALID_PARAMS', /x/]]

/**
 * Calls at the module `m` of `test/e2e/bad-calls.test.ts`; `test/api/dataproc/bad-calls.test.ts` has more of
 * them.
 */
export const DATAPROC_BAD_CALLS: BadCalls = {
  'dataproc.get_server_version': NO_PARAMS,
  'dataproc.list_modules': NO_PARAMS,
  'dataproc.exec': [
    [{}, 'INVALID_PARAMS', /\$\.module/],
    [{ module: 'm' }, 'INVALID_PARAMS', /\$\.method/],
    [run({ module: 'nobody' }), 'UNKNOWN_MODULE', /named "nobody"/],
    [run({ module: '../m' }), 'UNKNOWN_MODULE', /named "\.\.\/m"/],
    [run({ method: 'walk' }), 'UNKNOWN_SCRIPT', /has no method "walk"/],
    [run({ method: 'gone' }), 'BAD_MODULE', /gone\.sh: is missing/],
    [run({ params: [] }), 'INVALID_PARAMS', /\$\.params/],
    [input({}), 'INVALID_PARAMS', /\$\.input\.a/],
    [input({ data_ddc: 'nothing' }), 'UNKNOWN_DATASET', /named "nothing"/],
    [input({ model_store_ddc: 'nothing' }), 'UNKNOWN_STORE', /named "nothing"/],
    [input({ model_store_ddc: 'rain', query: { '=': ['x', 1] } }), 'BAD_CONDITION', /\$\.input\.a\.query/],
    [output({ data_ddc: 'nothing' }), 'UNKNOWN_DATASET', /named "nothing"/],
  ],
  'dataproc.create_trigger': [
    [trigger({ name: 'a b' }), 'INVALID_PARAMS', /\$\.name/],
    [trigger({ on: {} }), 'INVALID_PARAMS', /\$\.on/],
    [trigger({ on: { schedule: '0 0 30 2 *' } }), 'INVALID_PARAMS', /\$\.on\.schedule.*never comes/],
    [trigger({ retries: 11 }), 'INVALID_PARAMS', /\$\.retries/],
    [trigger({ module: 'nobody' }), 'UNKNOWN_MODULE', /named "nobody"/],
    [trigger({ params: [] }), 'INVALID_PARAMS', /\$\.params/],
    [trigger({ method: 'walk' }), 'UNKNOWN_SCRIPT', /has no method "walk"/],
    [trigger({ method: 'gone' }), 'BAD_MODULE', /gone\.sh: is missing/],
    [trigger({ input: { a: { data_ddc: 'nothing' } } }), 'UNKNOWN_DATASET', /named "nothing"/],
    [trigger({ input: { a: { model_store_ddc: 'nothing' } } }), 'UNKNOWN_STORE', /named "nothing"/],
    [
      trigger({ input: { a: { model_store_ddc: 'rain', query: { '=': ['x', 1] } } } }),
      ...(['BAD_CONDITION', /\$\.input\.a\.query/] as const),
    ],
  ],
  'dataproc.update_trigger': [
    [{ name: 'none' }, 'UNKNOWN_TRIGGER', /the name none/],
    [{ name: 'none', overlap: 'both' }, 'INVALID_PARAMS', /\$\.overlap/],
  ],
  'dataproc.delete_trigger': [[{ name: 'none' }, 'UNKNOWN_TRIGGER', /the name none/]],
  'dataproc.run_trigger': [[{ name: 'none' }, 'UNKNOWN_TRIGGER', /the name none/]],
  'dataproc.list_triggers': NO_PARAMS,
  'dataproc.list_trigger_runs': [
    [{ name: 'none' }, 'UNKNOWN_TRIGGER', /the name none/],
    [{ limit: 0 }, 'INVALID_PARAMS', /\$\.limit/],
  ],
}
