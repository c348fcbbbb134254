import type { z } from 'zod'
import { type ErrorName, invalidParams } from '../errors.js'
import { kindOf } from './envelope.js'
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
}

export type ScopeArea = 'session' | 'dataproc' | 'loader' | 'map' | 'dataset' | 'fl' | 'model' | 'route'
export type Scope = 'none' | 'admin' | `${ScopeArea}:${'read' | 'write'}`

/** A method as the dispatcher calls it. `C` is the part of the context that it needs. */
export interface Method<C = never> extends MethodFacts {
  /** @throws AppError INVALID_PARAMS with every fault and its JSON path */
  call(rawParams: unknown, context: C): Promise<unknown>
}

interface MethodDefinition<P extends z.ZodType, R extends z.ZodType, C> {
  readonly name: string
  readonly summary: string
  readonly scope: Scope
  readonly errors?: readonly ErrorName[]
  readonly params: P
  readonly result: R
  readonly paramsIn?: 'object' | 'array'
  handle(
    params: z.output<P>,
    context: C,
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
    async call(rawParams, context) {
      const params = parseParams(definition.params, unwrap(rawParams, paramsIn))
      return await definition.handle(params, context)
    },
  }
}

/** Most issues of zod that become faults: a body of many wrong values must not become a large answer. */
const MAX_ISSUES = 100

/** Most characters of a path or message: both quote the caller, and a fault must not echo a large body. */
const MAX_FAULT_TEXT = 300

/**
 * Checks a value against a schema.
 *
 * @returns the value as the schema transforms it
 * @throws AppError INVALID_PARAMS, with the first 100 faults
 */
export function parseParams<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const parsed = schema.safeParse(value, { reportInput: true })
  if (parsed.success) return parsed.data
  throw invalidParams(
    parsed.error.issues.slice(0, MAX_ISSUES).map((issue) => ({
      path: shorten(pathText(issue.path), MAX_FAULT_TEXT),
      message: shorten(faultText(issue), MAX_FAULT_TEXT),
    })),
  )
}

/** Returns zod's message of an issue, with the found value where the message lacks it. */
export function faultText(issue: z.core.$ZodIssue): string {
  const found = `found ${kindOf(issue.input)}`
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    const choices = new Set(issue.errors.flatMap(([first]) => (first === undefined ? [] : [first.message])))
    return `${found}: ${[...choices].join('; or ')}`
  }
  const isSaid = /\b(?:received|found|key)\b/.test(issue.message)
  return isSaid || issue.code === 'custom' ? issue.message : `${issue.message}, ${found}`
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

function unwrap(rawParams: unknown, paramsIn: 'object' | 'array'): unknown {
  if (rawParams === undefined) return {}
  if (paramsIn === 'array' && Array.isArray(rawParams) && rawParams.length === 1) return rawParams[0]
  return rawParams
}
