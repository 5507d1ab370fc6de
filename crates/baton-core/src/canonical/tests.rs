//! The vectors of RFC 8785, and properties.

use super::*;
use proptest::prelude::*;

fn form(text: &str) -> String {
    canonical(text).unwrap()
}

#[test]
fn the_samples_of_the_rfc() {
    // §3.2.2 and §3.2.3.
    let sample = r#"{
        "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
        "literals": [null, true, false]
    }"#;
    let expected = "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],\
                    \"string\":\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}";
    assert_eq!(form(sample), expected);
    let keys = r#"{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One",
        "\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}"#;
    let Tree::Object(members) = Tree::parse(&form(keys)).unwrap() else { panic!("an object") };
    let order: Vec<&str> = members.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(order, ["\r", "1", "\u{80}", "ö", "€", "😀", "\u{fb33}"]);
}

#[test]
fn the_numbers_of_the_rfc() {
    // Appendix B: the double's bits and its spelling.
    for (bits, text) in [
        (0x0000_0000_0000_0000_u64, "0"),
        (0x8000_0000_0000_0000, "0"),
        (0x0000_0000_0000_0001, "5e-324"),
        (0x8000_0000_0000_0001, "-5e-324"),
        (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
        (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
        (0x4340_0000_0000_0000, "9007199254740992"),
        (0xc340_0000_0000_0000, "-9007199254740992"),
        (0x4430_0000_0000_0000, "295147905179352830000"),
        (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
        (0x44b5_2d02_c7e1_4af6, "1e+23"),
        (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
        (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
        (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
        (0x444b_1ae4_d6e2_ef50, "1e+21"),
        (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
        (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
        (0x41b3_de43_5555_5553, "333333333.3333332"),
        (0x41b3_de43_5555_5554, "333333333.33333325"),
        (0x41b3_de43_5555_5555, "333333333.3333333"),
        (0x41b3_de43_5555_5556, "333333333.3333334"),
        (0x41b3_de43_5555_5557, "333333333.33333343"),
        (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
    ] {
        assert_eq!(Tree::Number(f64::from_bits(bits)).to_string(), text, "{bits:x}");
    }
}

#[test]
fn numbers_are_spelled_one_way() {
    // Many doubles of every size, each read back as it was.
    let mut bits = 1_u64;
    for _ in 0..100_000 {
        bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let value = f64::from_bits(bits);
        if value.is_finite() {
            assert_eq!(Tree::Number(value).to_string().parse::<f64>().unwrap().to_bits(), bits);
        }
    }
    for (written, text) in [
        ("3.0", "3"),
        ("-0", "0"),
        ("-0.0", "0"),
        ("1e2", "100"),
        ("0.1", "0.1"),
        ("123456.789e3", "123456789"),
        ("1e-6", "0.000001"),
        ("1e-7", "1e-7"),
        ("1e20", "100000000000000000000"),
        ("100000000000000000000", "100000000000000000000"),
        ("9007199254740991", "9007199254740991"),
        ("9007199254740992", "9007199254740992"),
    ] {
        assert_eq!(form(written), text);
    }
}

#[test]
fn what_readers_would_not_agree_on_has_no_form() {
    for bad in ["9007199254740993", "-9007199254740993", "1e400", "[1,123456789012345678901]"] {
        assert!(matches!(canonical(bad), Err(Error::Number(_))), "{bad}");
    }
    assert!(matches!(canonical(r#"{"a":{"b":1,"b":1}}"#), Err(Error::Twice(name)) if name == "b"));
    assert!(matches!(canonical(r#"{"a":1,"\u0061":2}"#), Err(Error::Twice(_))));
    assert!(canonical(r#""\ud800""#).is_err());
    assert!(canonical("{").is_err());
    assert!(canonical(&("[".repeat(101) + &"]".repeat(101))).is_err());
}

/// Found at once among very many: a stranger's card may be made so that looking for it takes long.
#[test]
fn a_member_given_twice_is_found_among_many() {
    let many = |last: u32| {
        let members: Vec<_> = (0..50_000).chain([last]).map(|name| format!("\"{name}\":0")).collect();
        canonical(&format!("{{{}}}", members.join(",")))
    };
    assert!(many(50_000).is_ok());
    assert!(matches!(many(25_000), Err(Error::Twice(name)) if name == "25000"));
}

#[test]
fn what_says_nothing_goes() {
    let tree = Tree::parse(r#"{"a":"","b":[[],{"c":null}],"d":{"e":false,"f":0},"g":["",1]}"#).unwrap();
    assert_eq!(tree.without_empty().unwrap().to_string(), r#"{"d":{"e":false,"f":0},"g":[1]}"#);
    assert_eq!(Tree::parse("[{},[],\"\",null]").unwrap().without_empty(), None);
}

fn trees() -> impl Strategy<Value = Tree> {
    let numbers = prop_oneof![
        any::<f64>().prop_filter("JSON has only finite numbers", |n| n.is_finite()),
        any::<i32>().prop_map(f64::from),
        Just(-0.0),
    ];
    let leaf = prop_oneof![
        Just(Tree::Null),
        any::<bool>().prop_map(Tree::Bool),
        numbers.prop_map(|n| Tree::Number(if n == 0.0 { 0.0 } else { n })),
        any::<String>().prop_map(Tree::Text),
    ];
    leaf.prop_recursive(4, 64, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Tree::List),
            // In canonical order, so that reading gives the same tree again.
            prop::collection::btree_map(any::<String>(), inner, 0..6).prop_map(|members| {
                let mut members: Vec<_> = members.into_iter().collect();
                members.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
                Tree::Object(members)
            }),
        ]
    })
}

proptest! {
    #[test]
    fn reading_the_form_gives_the_value(tree in trees()) {
        let text = tree.to_string();
        prop_assert_eq!(&Tree::parse(&text).unwrap(), &tree);
        // It is its own form, and it is JSON that others read alike.
        prop_assert_eq!(canonical(&text).unwrap(), text.clone());
        prop_assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok());
    }

    #[test]
    fn spelling_does_not_matter(tree in trees()) {
        let text = tree.to_string();
        let spaced = Tree::parse(&format!(" \n{text}\t")).unwrap();
        prop_assert_eq!(spaced.to_string(), text);
    }
}
