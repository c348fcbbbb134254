/**
 * Responses that Node can send without undici's Response and Headers, which take 11 MB and 30 ms when either is first
 * touched. Handlers make them here instead of by `new Response`; hono only passes them on. A member that only a whole
 * Response has, such as `headers` or `json()`, makes one when it is first read.
 */

/** Body of a response; null for none. */
export type ResponseBody = string | Uint8Array | ReadableStream<Uint8Array> | null

export interface ResponseParts {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: ResponseBody
}

/** Parts of the responses that were made here. */
const partsOf = new WeakMap<object, ResponseParts>()
/** Whole responses of those that were asked for more than their status. */
const wholes = new WeakMap<object, Response>()

/**
 * Makes a response.
 *
 * @param headers names in one spelling each: Node sends `Allow` and `allow` as two headers
 */
export function lightResponse(
  status: number,
  headers: Readonly<Record<string, string>>,
  body: ResponseBody,
): Response {
  const response: object = Object.create(WEB_MEMBERS)
  partsOf.set(response, { status, headers, body })
  return response as Response // `WEB_MEMBERS` has every member of one
}

/** Returns the parts of a response; undefined for one that was not made here. */
export function responseParts(response: Response): ResponseParts | undefined {
  const parts = partsOf.get(response)
  const whole = wholes.get(response)
  if (parts === undefined || whole === undefined) return parts
  return { ...parts, headers: Object.fromEntries(whole.headers) } // they may have been changed
}

/** Members of the web's Response. `status` is known; each other one is that of a whole response. */
const WEB_MEMBERS: object = Object.defineProperties(
  {},
  {
    status: { get: statusOf },
    ...Object.fromEntries(
      ['headers', 'body', 'bodyUsed', 'ok', 'redirected', 'statusText', 'type', 'url'].map((name) => [
        name,
        { get: getterOf(name as keyof Response) },
      ]),
    ),
    ...Object.fromEntries(
      ['arrayBuffer', 'blob', 'bytes', 'clone', 'formData', 'json', 'text'].map((name) => [
        name,
        { value: methodOf(name as 'text') },
      ]),
    ),
  },
)

function statusOf(this: object): number {
  return (partsOf.get(this) as ResponseParts).status
}

function getterOf(name: keyof Response) {
  return function read(this: object): unknown {
    return wholeOf(this)[name]
  }
}

function methodOf(name: 'text') {
  return function call(this: object): unknown {
    return wholeOf(this)[name]()
  }
}

function wholeOf(light: object): Response {
  const made = wholes.get(light)
  if (made !== undefined) return made
  const { status, headers, body } = partsOf.get(light) as ResponseParts
  const whole = new Response(body as string | null, { status, headers }) // the types lack Node's Uint8Array
  wholes.set(light, whole)
  return whole
}
