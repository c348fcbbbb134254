/** Text of a time of a record without zeros at the end of its fraction: `…:50.166+09:00` for `….166000+09:00`. */
export function shortTime(text: string): string {
  return text.replace(/^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:(\.\d*?[1-9])0*|\.0+)(?=Z|[+-]\d|$)/, '$1$2')
}
