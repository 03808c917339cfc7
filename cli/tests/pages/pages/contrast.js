// The lowest contrast between text and its background in the page: the ratio, then the names of
// the two colours, or `map` and the text of the cell.
(() => {
  const value = (name) =>
    getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const light = (hex) => {
    const full = hex.length === 4
      ? [...hex.slice(1)].map((c) => c + c).join('') : hex.slice(1);
    const part = (at) => {
      const c = parseInt(full.slice(at, at + 2), 16) / 255;
      return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    };
    return 0.2126 * part(0) + 0.7152 * part(2) + 0.0722 * part(4);
  };
  const ratio = (a, b) => {
    const [x, y] = [light(value(a)), light(value(b))].sort((p, q) => q - p);
    return (x + 0.05) / (y + 0.05);
  };
  const pairs = ['--ink', '--faint', '--link', '--good', '--warn']
    .flatMap((text) => ['--ground', '--panel'].map((ground) => [text, ground]));
  pairs.push(['--warn', '--warn-ground'], ['--ink', '--warn-ground'],
    ['--ground', '--much']);
  for (let run = 0; run < 6; run++) pairs.push(['--ink', '--run-' + run]);
  const paint = document.createElement('canvas')
    .getContext('2d', { willReadFrequently: true });
  const seen = (color) => {
    paint.fillStyle = color;
    paint.fillRect(0, 0, 1, 1);
    return '#' + [...paint.getImageData(0, 0, 1, 1).data].slice(0, 3)
      .map((c) => c.toString(16).padStart(2, '0')).join('');
  };
  const cells = [...document.querySelectorAll('.map td[data-much]')].map((cell) => {
    const style = getComputedStyle(cell),
      [x, y] = [light(seen(style.color)), light(seen(style.backgroundColor))]
        .sort((p, q) => q - p);
    return [(x + 0.05) / (y + 0.05), 'map', cell.textContent];
  });
  return [...pairs.map(([a, b]) => [ratio(a, b), a, b]), ...cells]
    .sort((x, y) => x[0] - y[0])[0];
})()
