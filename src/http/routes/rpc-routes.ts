import type { Hono } from 'hono'
import { type Caller, isAllowed, requireScope } from '../../auth/caller.js'
import {
  type Answer,
  type Api,
  answerDiscovery,
  callForPiece,
  DISCOVER,
  type Dispatch,
  dispatch,
} from '../../rpc/dispatch.js'
import { type Piece, resultPiece } from '../../rpc/pieces.js'
import { readExactAgain, readJsonInTurn } from '../../rpc/read-json.js'
import { answerResponse, jsonResponse, problemResponse } from '../answer.js'
import { type CallDeps, dispatchOf, refusingFaults, signIn, streamOptions } from '../calls.js'
import { type HttpContext, type HttpEnv, hasCredentials, headerOf } from '../env.js'
import { bodyBytes, SMALL_BODY_BYTES, takeBody } from '../memory.js'
import { type BodyLimits, readBody, requireJson } from '../read-body.js'
import { refuseOtherMethods } from '../refuse-methods.js'

/** Reads the bodies of a path and answers them. */
export interface BodyAnswerer<C> {
  /** largest body that is held in memory */
  readonly inlineBytes: number
  /** answers a JSON-RPC request or batch */
  answerRpc(c: HttpContext, call: Dispatch<C>): Promise<Answer>
  /** calls a method with the params that the body is, in the REST form. @throws AppError of the method */
  answerParams(c: HttpContext, method: string, call: Dispatch<C>): Promise<Piece>
}

/**
 * Adds the routes of an API: JSON-RPC at its path, and the REST form at `<path>/call/<method>`, whose body
 * and answer are params and result alone and whose refusals are problem details.
 *
 * @param answerer for a path whose bodies need not fit in memory; by default each body is read as a whole
 */
export function addRpcRoutes<C>(
  app: Hono<HttpEnv>,
  api: Api<C>,
  deps: CallDeps<C>,
  answerer: BodyAnswerer<C> = smallBodyAnswerer(deps.bodyLimits),
): void {
  const restPath = `${api.path}/call/:method`
  app.post(api.path, (c) => refusingFaults(c, deps, api.path, () => answerRpc(c, api, deps, answerer)))
  app.post(restPath, (c) => {
    const method = c.req.param('method') ?? ''
    const answer = () => answerRest(c, method, api, deps, answerer)
    return refusingFaults(c, deps, method, answer, problemResponse)
  })
  refuseOtherMethods(app, api.path, 'POST')
  refuseOtherMethods(app, restPath, 'POST', problemResponse)
}

/** Calls a method with the params of a body; an empty body stands for no params. */
export async function answerParamsText<C>(
  body: Uint8Array,
  method: string,
  call: Dispatch<C>,
): Promise<Piece> {
  const params = body.byteLength === 0 ? undefined : await readJsonInTurn(body, call.maxDepth)
  await call.charge(1)
  const exact = async () => (body.byteLength === 0 ? undefined : await readExactAgain(body))
  return await callForPiece(method, params, call, exact)
}

async function answerRpc<C>(
  c: HttpContext,
  api: Api<C>,
  deps: CallDeps<C>,
  answerer: BodyAnswerer<C>,
): Promise<Response> {
  const discovered = await discovery(c, api, deps)
  if (discovered !== undefined) return await answerResponse(discovered, streamOptions(c, api.path, deps))
  const caller = await signIn(c, deps)
  requireJson(c)
  await requireSomeScope(c, api, caller)
  const share = await takeBody(c, deps, caller, answerer.inlineBytes)
  try {
    const answer = await answerer.answerRpc(c, dispatchOf(c, api, caller, deps))
    return await answerResponse(answer, streamOptions(c, api.path, deps))
  } finally {
    share.release()
  }
}

async function answerRest<C>(
  c: HttpContext,
  method: string,
  api: Api<C>,
  deps: CallDeps<C>,
  answerer: BodyAnswerer<C>,
): Promise<Response> {
  if (method === DISCOVER && !hasCredentials(c, deps.tokenHeader))
    return await jsonResponse(await resultPiece(await deps.discover(api)), streamOptions(c, method, deps))
  const caller = await signIn(c, deps)
  requireJson(c)
  const { scope = 'none' } = (await api.methods()).get(method) ?? {}
  requireScope(caller, scope)
  await requireSomeScope(c, api, caller)
  const share = await takeBody(c, deps, caller, answerer.inlineBytes)
  try {
    const piece = await answerer.answerParams(c, method, dispatchOf(c, api, caller, deps))
    return await jsonResponse(piece, streamOptions(c, method, deps))
  } finally {
    share.release()
  }
}

/**
 * Refuses a body that is not small, before it is read, when the key may call no method of the path. A small
 * one may be `rpc.discover`, which needs no scope.
 *
 * @throws AppError FORBIDDEN with the scope of one of the methods
 */
async function requireSomeScope<C>(c: HttpContext, api: Api<C>, caller: Caller): Promise<void> {
  if (bodyBytes(c) <= SMALL_BODY_BYTES) return
  const scopes = [...(await api.methods()).values()].map(({ scope }) => scope)
  const [needed] = scopes
  if (needed !== undefined && !scopes.some((scope) => isAllowed(caller.scopes, scope)))
    requireScope(caller, needed)
}

/** Largest body of a stranger that is read, to see whether it is a request of `rpc.discover`. */
const MAX_STRANGERS_BYTES = 4096

/**
 * Answers `rpc.discover` of a caller without credentials.
 *
 * @returns undefined for every other request: its sign-in refuses it
 */
async function discovery<C>(c: HttpContext, api: Api<C>, deps: CallDeps<C>): Promise<Answer | undefined> {
  const declared = Number(headerOf(c, 'content-length') ?? Number.NaN)
  // a body without a length is not read: nothing says that it is short
  if (hasCredentials(c, deps.tokenHeader) || !(declared <= MAX_STRANGERS_BYTES)) return undefined
  const body = await readBody(c, { ...deps.bodyLimits, maxBytes: MAX_STRANGERS_BYTES })
  return await answerDiscovery(body, { discover: () => deps.discover(api), maxDepth: deps.maxDepth })
}

/** Reads each body as a whole, up to the limit. */
function smallBodyAnswerer<C>(limits: BodyLimits): BodyAnswerer<C> {
  return {
    inlineBytes: limits.maxBytes,
    answerRpc: async (c, call) => await dispatch(await readBody(c, limits), call),
    answerParams: async (c, method, call) => await answerParamsText(await readBody(c, limits), method, call),
  }
}
