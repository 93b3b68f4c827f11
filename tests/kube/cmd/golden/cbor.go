// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"
)

type cborRow struct {
	JSON string `json:"json"`
	CBOR string `json:"cbor"`
}

// cborValues are members of an object each; some are at the borders of CBOR's sizes.
var cborValues = []string{
	`0`, `1`, `10`, `23`, `24`, `25`, `100`, `255`, `256`, `1000`, `65535`, `65536`, `1000000`,
	`4294967295`, `4294967296`, `1000000000000`, `9223372036854775807`, `-1`, `-10`, `-24`, `-25`,
	`-100`, `-256`, `-257`, `-1000`, `-9223372036854775808`, `1.1`, `1.5`, `65504.5`, `100000.5`,
	`3.4028234663852886e+38`, `1e300`, `5.960464477539063e-8`, `0.00006103515625`, `0.25`, `-4.25`,
	`-4.1`, `0.333251953125`, `0.0000610351560`, `1.401298464324817e-45`, `5e-324`, `0.1`,
	`65503.5`, `5.960464477539063e-9`, `8.940696716308594e-08`,
	`true`, `false`, `null`, `""`, `"a"`, `"IETF"`, `"\"\\"`, `"ü"`, `"水"`, `"𐅑"`, `[]`, `{}`,
	`[1,[2,3],[4,5]]`, `{"a":1,"b":[2,3]}`, `["a",{"b":"c"}]`,
	`{"bb":1,"a":2,"aaa":3,"ab":4,"":5,"B":6}`, `[null,true,{"x":[]}]`,
}

// cborObjects gives what the serializer writes for objects, in its deterministic mode.
func cborObjects(r *random) table {
	rows := section{name: "objects"}
	serializer := cbor.NewSerializer(nil, nil)
	add := func(text string) {
		u := &unstructured.Unstructured{}
		check(json.Unmarshal([]byte(text), u))
		var out bytes.Buffer
		check(serializer.Encode(runtime.Object(u), &out))
		rows.add(cborRow{text, hex.EncodeToString(out.Bytes())})
	}
	for _, v := range cborValues {
		add(fmt.Sprintf(`{"apiVersion":"v1","kind":"Test","value":%s}`, v))
	}
	for _, n := range []int{23, 24, 255, 256, 65535, 65536} {
		add(fmt.Sprintf(`{"apiVersion":"v1","kind":"Test","value":%q}`, strings.Repeat("x", n)))
	}
	for range 40 {
		members := []string{`"apiVersion":"v1"`, `"kind":"Test"`}
		for i := range r.between(0, 40) {
			members = append(members, fmt.Sprintf(`"%s%d":%s`, strings.Repeat("k", r.between(0, 30)), i,
				pick(r, cborValues)))
		}
		r.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
		add("{" + strings.Join(members, ",") + "}")
	}
	return table{rows}
}
