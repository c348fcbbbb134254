# The heaviest rain of each cell and period, as a polygon with a risk level. Fields are CSV (RFC 4180) without line breaks.

BEGIN {
  if (step + 0 < 0.0001 || step + 0 > 10) fail("step: found " step ", expected 0.0001 to 10 degrees")
  step += 0
  digits = "%.6f"
}

{ sub(/\r$/, "") }

NR == 1 {
  count = split_csv($0)
  for (i = 1; i <= count; i++) at[field[i]] = i
  for (i = split("start_datetime end_datetime location mm", needed, " "); i > 0; i--)
    if (!(needed[i] in at)) fail("input/rain.csv has no column " needed[i])
  next
}

{
  split_csv($0)
  place = field[at["location"]]
  mm = field[at["mm"]]
  if (place == "" || mm == "") next
  if (place !~ /^POINT/) fail("record " NR - 1 ": found " place ", expected a point")
  gsub(/[^-+0-9.eE ]|POINT/, " ", place)
  split(place, lnglat, " ")
  # whole numbers name the cell: sums of steps would not meet at the corners
  x = floor(lnglat[1] / step + 1e-9)
  y = floor(lnglat[2] / step + 1e-9)
  key = field[at["start_datetime"]] "," field[at["end_datetime"]] "," x "," y
  if (!(key in heaviest)) order[++cells] = key
  if (!(key in heaviest) || mm + 0 > heaviest[key]) heaviest[key] = mm + 0
}

END {
  if (failed) exit 1
  print "start_datetime,end_datetime,cell,mm,risk,location"
  for (i = 1; i <= cells; i++) {
    split(order[i], part, ",")
    rain = heaviest[order[i]]
    print part[1] "," part[2] "," part[3] "_" part[4] "," rain "," level(rain) ",\"" polygon(part[3], part[4]) "\""
  }
}

function level(rain) {
  return rain >= 80 ? 10 : rain >= 50 ? 8 : rain >= 30 ? 6 : rain >= 20 ? 4 : rain >= 10 ? 2 : rain >= 5 ? 1 : 0
}

function polygon(x, y) {
  return "POLYGON((" corner(x, y) "," corner(x + 1, y) "," corner(x + 1, y + 1) "," corner(x, y + 1) "," corner(x, y) "))"
}

function corner(x, y) { return sprintf(digits " " digits, x * step, y * step) }

function floor(value) { return value >= int(value) ? int(value) : int(value) - 1 }

# Sets field[1..] and answers how many there are.
function split_csv(line, n) {
  n = 0
  while (1) {
    if (substr(line, 1, 1) == "\"") {
      match(line, /^"([^"]|"")*"/)
      field[++n] = substr(line, 2, RLENGTH - 2)
      gsub(/""/, "\"", field[n])
    } else {
      match(line, /^[^,]*/)
      field[++n] = substr(line, 1, RLENGTH)
    }
    if (substr(line, RLENGTH + 1, 1) != ",") return n
    line = substr(line, RLENGTH + 2)
  }
}

function fail(reason) {
  print "rain-risk: " reason > "/dev/stderr"
  failed = 1
  exit 1
}
