import type { z } from 'zod'
import { type ErrorName, invalidParams } from '../errors.js'
import { checkValue } from '../messages/fault-text.js'
import type { RawJson, StreamedJson } from './result.js'
import { shorten } from './shorten.js'

/**
 * Facts about a method without its code. The OpenRPC document and docs/methods.md are generated from them.
 */
export interface MethodFacts {
  readonly name: string
  readonly summary: string
  /** scope that a key needs; `none` for a method that every authenticated caller may use */
  readonly scope: Scope
  /** errors of this method, besides those of any call */
  readonly errors: readonly ErrorName[]
  readonly params: z.ZodType
  readonly result: z.ZodType
  /** `array`: the params object is the only item of an array; a bare object is accepted too */
  readonly paramsIn: 'object' | 'array'
  /** neighbours in a batch may run side by side: none depends on what an earlier one did */
  readonly mayOverlap: boolean
}

export type ScopeArea =
  | 'session'
  | 'dataproc'
  | 'loader'
  | 'map'
  | 'dataset'
  | 'fl'
  | 'model'
  | 'route'
  | 'sync'
/**
 * `sync:relay`: rows of other nodes may be sent; `fleet:admin`: tokens, profiles and gateways of a fleet;
 * `fleet:join` and `fleet:member`: those of tokens, and of gateways that joined
 */
export type Scope =
  | 'none'
  | 'admin'
  | 'sync:relay'
  | `fleet:${'admin' | 'join' | 'member'}`
  | `${ScopeArea}:${'read' | 'write'}`

/** A method as the dispatcher calls it. `C` is the part of the context that it needs. */
export interface Method<C = never> extends MethodFacts {
  /**
   * @param exact reads the params again, with each number as a `RawNumber` that a double prints otherwise
   * @throws AppError INVALID_PARAMS with every fault and its JSON path
   */
  call(rawParams: unknown, context: C, exact?: () => Promise<unknown>): Promise<unknown>
}

interface MethodDefinition<P extends z.ZodType, R extends z.ZodType, C> {
  readonly name: string
  readonly summary: string
  readonly scope: Scope
  readonly errors?: readonly ErrorName[]
  readonly params: P
  readonly result: R
  readonly paramsIn?: 'object' | 'array'
  readonly mayOverlap?: boolean
  /** @param exact the params as sent, unchecked, with each number as supplied */
  handle(
    params: z.output<P>,
    context: C,
    exact: () => Promise<z.input<P>>,
  ): Promise<z.input<R> | RawJson | StreamedJson> | z.input<R> | RawJson | StreamedJson
}

/** Makes a method out of its facts and its handler. Params are checked before the handler runs. */
export function defineMethod<P extends z.ZodType, R extends z.ZodType, C>(
  definition: MethodDefinition<P, R, C>,
): Method<C> {
  const paramsIn = definition.paramsIn ?? 'object'
  return {
    name: definition.name,
    summary: definition.summary,
    scope: definition.scope,
    errors: definition.errors ?? [],
    params: definition.params,
    result: definition.result,
    paramsIn,
    mayOverlap: definition.mayOverlap ?? false,
    async call(rawParams, context, exact = async () => rawParams) {
      const params = parseParams(definition.params, unwrap(rawParams, paramsIn))
      // the same JSON as the checked params: only its numbers are not doubles
      return await definition.handle(
        params,
        context,
        async () => unwrap(await exact(), paramsIn) as z.input<P>,
      )
    },
  }
}

/** Most characters of a path or message: both quote the caller, and a fault must not echo a large body. */
const MAX_FAULT_TEXT = 300

/**
 * Checks a value against a schema.
 *
 * @returns the value as the schema transforms it
 * @throws AppError INVALID_PARAMS, with the first 100 faults
 */
export function parseParams<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const checked = checkValue(schema, value)
  if ('data' in checked) return checked.data
  throw invalidParams(
    checked.faults.map(({ path, message }) => ({
      path: shorten(pathText(path), MAX_FAULT_TEXT),
      message: shorten(message, MAX_FAULT_TEXT),
    })),
  )
}

/** Returns the JSON path of a fault, such as `$.record_def.name` or `$[0].x`. */
export function pathText(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, key) => {
    if (typeof key === 'number') return `${text}[${key}]`
    return /^[A-Za-z_]\w*$/.test(String(key))
      ? `${text}.${String(key)}`
      : `${text}[${JSON.stringify(String(key))}]`
  }, '$')
}

/** An empty array stands for no params: they are then by position, and there is none. */
function unwrap(rawParams: unknown, paramsIn: 'object' | 'array'): unknown {
  if (rawParams === undefined || (Array.isArray(rawParams) && rawParams.length === 0)) return {}
  if (!Array.isArray(rawParams)) return rawParams
  if (paramsIn === 'array' && rawParams.length === 1) return rawParams[0]
  const expected = paramsIn === 'array' ? 'an object, or an array that holds one object' : 'an object'
  throw invalidParams([{ path: '$', message: `found an array of ${rawParams.length}, expected ${expected}` }])
}
