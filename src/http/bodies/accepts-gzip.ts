/** Returns true when the header Accept-Encoding of a request allows gzip. */
export function acceptsGzip(header: string | undefined): boolean {
  return /(^|[\s,])(gzip|\*)(?!\s*;\s*q=0(\.0*)?\s*(,|$))/i.test(header ?? '')
}
